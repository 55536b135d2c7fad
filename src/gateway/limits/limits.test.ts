import assert from 'node:assert/strict'
import { test } from 'vitest'
import { anyone, echo, givenHost, recordOf, typesOf } from '../../../test/support/host.ts'
import { defineCapability } from '../capability.ts'

const fifty = Array.from({ length: 50 }, (_, index) => index)

test('a capability is called as often as it may be within one correlation; the event comes before the denial [H-38]', async () => {
  const { call, events } = await givenHost({ capabilities: [echo({ autonomy: { action_limit: 2 } })] })
  const inTask = (correlation_id: string) =>
    call(anyone, { capability_id: 'test.echo', correlation: { correlation_id } })
  assert.equal((await inTask('one')).outcome, 'success')
  assert.equal((await inTask('one')).outcome, 'success')
  const over = await inTask('one')
  assert.deepEqual(
    [over.denial?.code, over.denial?.retryable, over.denial?.details],
    ['budget_exceeded', true, { limit: 'actions', used: 2, max: 2 }],
  )
  assert.deepEqual(typesOf((await events()).slice(-2)), ['budget_exceeded', 'execution_denied'])
  assert.equal(recordOf((await events()).at(-1)).basis?.at(-1)?.gate, 8)
  assert.equal((await inTask('two')).outcome, 'success')
})

test('what counts is what was started: failures do, refusals do not [H-38]', async () => {
  const fails = defineCapability(
    {
      id: 'test.fail',
      version: '1.0.0',
      description: 'Fails.',
      policy: {},
      autonomy: { action_limit: 1 },
      input: { type: 'object', required: ['n'] },
    },
    () => {
      throw new Error('no')
    },
  )
  const { call } = await givenHost({ capabilities: [fails] })
  const envelope = { capability_id: 'test.fail', correlation: { correlation_id: 'task' } }
  assert.equal((await call(anyone, envelope)).denial?.code, 'input_schema_validation_failed')
  assert.equal((await call(anyone, { ...envelope, payload: { n: 1 } })).outcome, 'failure')
  assert.equal((await call(anyone, { ...envelope, payload: { n: 1 } })).denial?.code, 'budget_exceeded')
})

test.each([
  ['7', '21', 3],
  ['0.1', '0.3', 3],
  ['0.0000001', '0.000002', 2],
  ['0.3', '0.8999999', 2],
  [3, 10, 3],
  ['5', '4.99', 0],
])('units of %s fit into %s %i times [H-38]', async (spend_units, spend_limit, times) => {
  const { call } = await givenHost({ capabilities: [echo({ autonomy: { spend_units, spend_limit } })] })
  const outcomes: string[] = []
  for (let index = 0; index <= times; index++) {
    const correlation = { correlation_id: 'task' }
    const { denial } = await call(anyone, { capability_id: 'test.echo', correlation })
    outcomes.push(denial?.code ?? 'success')
  }
  assert.deepEqual(outcomes, [...Array.from({ length: times }, () => 'success'), 'budget_exceeded'])
})

test('limits are exact under fifty calls at once, whichever comes first [H-38 H-39]', async () => {
  let runs = 0
  const counted = defineCapability(
    {
      id: 'test.count',
      version: '1.0.0',
      description: 'Counts.',
      policy: {},
      autonomy: { action_limit: 7, spend_units: '2', spend_limit: '12.5' },
    },
    () => ++runs,
  )
  const { call, events } = await givenHost({
    capabilities: [counted],
    safety: () => ({ approved: true, level: 'none', score: 0 }),
  })
  const results = await Promise.all(
    fifty.map((n) =>
      call(anyone, { capability_id: 'test.count', payload: { n }, correlation: { correlation_id: 'task' } }),
    ),
  )
  assert.deepEqual([runs, results.filter(({ success }) => success).length], [6, 6])
  for (const { denial, success } of results) assert(success || denial?.code === 'budget_exceeded')
  // Those who lost the race leave no trace of the gates behind the one that stopped them.
  for (const { invocation_id, success } of results) {
    const own = typesOf((await events()).filter((event) => event.invocation_id === invocation_id))
    if (!success) assert.deepEqual(own, ['budget_exceeded', 'execution_denied'])
  }
})
