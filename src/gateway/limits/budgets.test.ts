import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { anyone, echo, givenHost, recordOf, stillClock, typesOf } from '../../../test/support/host.ts'
import type { Budget } from '../../model/config/budget.ts'
import { makeOffer } from '../../runtime/hosting/offer.ts'
import { rows } from '../../storage/work.ts'
import type { CallCaller } from '../call.ts'
import { type CallContext, type CapabilitySpec, defineCapability } from '../capability.ts'

const all: Omit<Budget, 'name'> = { per: 'tenant', applies_to: ['*'], every: 'day' }
const to = (capability_id = 'test.echo', more: object = {}) => ({ capability_id, ...more })
const hour = 3_600_000

/** A capability that does what the test says. */
const doing = (spec: Partial<CapabilitySpec>, handler: (input: unknown, call: CallContext) => unknown) =>
  defineCapability({ id: 'test.do', version: '1.0.0', description: 'Does it.', policy: {}, ...spec }, handler)

async function givenBudgets(budgets: readonly Budget[], capabilities = [echo()]) {
  const clock = stillClock()
  const given = await givenHost({ capabilities, budgets }, { clock })
  const used = async () =>
    (
      await given.ambit.store.read(() => rows('SELECT calls, time_ms, cost, bytes FROM budget_uses ORDER BY calls'))
    ).map((row) => ({
      ...row,
    }))
  return { ...given, clock, used }
}

test('a budget that is used up refuses, says what is left and when it renews, and renews then [H-99]', async () => {
  const { call, events, clock } = await givenBudgets([{ ...all, name: 'daily', calls: 2 }])
  for (let turn = 0; turn < 2; turn++) assert.equal((await call(anyone, to())).outcome, 'success')
  const { denial } = await call(anyone, to())
  const renews_at = '2026-06-17T00:00:00.000Z'
  const details = { budget: 'daily', measure: 'calls', limit: 2, used: 2, left: 0, renews_at }
  assert.deepEqual(denial, {
    code: 'budget_exceeded',
    message: `budget \`daily\` has 0 of 2 calls left; it renews at ${renews_at}`,
    retryable: true,
    details: { ...details, matched_rule: 'budget/daily' },
  })
  const [event, denied] = (await events()).slice(-2)
  assert.deepEqual(typesOf([event, denied] as never), ['budget_exceeded', 'execution_denied'])
  const { decision: _, ...payload } = (event?.payload ?? {}) as Record<string, unknown>
  assert.deepEqual(payload, details)
  const basis = { gate: 8, rule: 'budget/daily', effect: 'deny', reads: [] }
  assert.deepEqual(recordOf(denied).basis?.at(-1), basis)
  clock.advance(9 * hour - 1)
  assert.equal((await call(anyone, to())).success, false)
  clock.advance(1)
  assert.equal((await call(anyone, to())).success, true)
})

describe('who shares a budget is what `per` says [H-99]', () => {
  const calls = async (per: Budget['per']) => {
    const { call, caller } = await givenBudgets(
      [{ ...all, name: 'b', per, calls: 1 }],
      [echo(), echo({ id: 'test.b' })],
    )
    const [a, b] = [await caller({ id: 'a', kind: 'agent' }), await caller({ id: 'b', kind: 'agent' })]
    const tries: [CallCaller, string, string?][] = [
      [a, 'test.echo'],
      [a, 'test.echo', 'one'],
      [a, 'test.b'],
      [b, 'test.echo'],
      [b, 'test.b', 'two'],
      [anyone, 'test.echo'],
      [{ ...anyone, name: 'other' }, 'test.b'],
    ]
    const outcomes: number[] = []
    for (const [by, id, history] of tries)
      outcomes.push(Number((await call(history === undefined ? by : { ...by, history }, to(id))).success))
    return outcomes.join('')
  }
  test.each<[Budget['per'], string]>([
    ['tenant', '1000000'],
    ['principal', '1001010'],
    ['history', '1101110'],
    ['capability', '1010000'],
    [['capability', 'principal'], '1011111'],
    [['principal', 'tenant', 'principal'], '1001010'],
  ])('%s', async (per, expected) => assert.equal(await calls(per), expected))
})

test('only the capabilities that a budget names have it, and each of several budgets counts [H-99]', async () => {
  const { call, used } = await givenBudgets(
    [
      { ...all, name: 'some', applies_to: ['test.e*'], calls: 2 },
      { ...all, name: 'hourly', every: 'hour', calls: 3 },
    ],
    [echo(), echo({ id: 'test.b' })],
  )
  const budgetOf = async (id: string) => (await call(anyone, to(id))).denial?.details?.['budget'] ?? 'none'
  const ids = ['test.echo', 'test.echo', 'test.echo', 'test.b', 'test.b']
  const found: unknown[] = []
  for (const id of ids) found.push(await budgetOf(id))
  assert.deepEqual(found, ['none', 'none', 'some', 'none', 'hourly'])
  assert.deepEqual(await used(), [
    { calls: 2, time_ms: 0, cost: 0, bytes: 0 },
    { calls: 3, time_ms: 0, cost: 0, bytes: 0 },
  ])
})

test('the time of a call is reserved whole, and given back but for what it took [H-99]', async () => {
  const slow = doing({ timeoutS: 5 }, async () => void clock.advance(300))
  const { call, clock, used } = await givenBudgets([{ ...all, name: 't', time_ms: 5_500 }], [slow])
  assert.equal((await call(anyone, to('test.do'))).success, true)
  assert.equal((await used())[0]?.['time_ms'], 300)
  const both = await Promise.all([call(anyone, to('test.do')), call(anyone, to('test.do'))])
  assert.deepEqual(both.map(({ success }) => success).sort(), [false, true])
  assert.equal((await used())[0]?.['time_ms'], 600)
  const { denial } = await call(anyone, to('test.do'))
  assert.match(denial?.message ?? '', /^budget `t` has 4900 of 5500 ms left, and the call may take 5000; it renews at /)
})

test('the declared cost is reserved, and what the handler says it spent is counted [H-99]', async () => {
  const spends = doing({ worstCase: { cost: '2.5' } }, (input, { spent }) => {
    const { cost } = input as { cost?: string }
    if (cost !== undefined) spent(cost)
    return null
  })
  const { call, used } = await givenBudgets([{ ...all, name: 'c', cost: '5' }], [spends])
  const spend = (payload: object) => call(anyone, to('test.do', { payload }))
  assert.equal((await spend({ cost: '0.1' })).success, true)
  assert.equal((await spend({ cost: '1' })).success, true)
  assert.equal((await used())[0]?.['cost'], 1_100_000)
  assert.equal((await spend({})).success, true)
  const { details } = (await spend({})).denial ?? {}
  assert.deepEqual([details?.['limit'], details?.['used'], details?.['left']], ['5', '3.6', '1.4'])
  const wrong = await givenBudgets([], [spends])
  for (const cost of ['-1', '1e3', 'x', ''])
    assert.equal((await wrong.call(anyone, to('test.do', { payload: { cost } }))).outcome, 'failure')
})

test('a call that is taken back before it begins costs nothing [H-99]', async () => {
  const never = doing({ worstCase: { cost: 2 } }, () => assert.fail())
  const { host, used } = await givenBudgets([{ ...all, name: 'b', cost: 9 }], [never])
  await host.gateway.invoke(anyone, to('test.do'), { chunk: () => undefined, signal: AbortSignal.abort() })
  assert.deepEqual(await used(), [{ calls: 0, time_ms: 0, cost: 0, bytes: 0 }])
})

test('what a capability spends is the default of what it costs [H-99]', async () => {
  const { call } = await givenBudgets([{ ...all, name: 'c', cost: 5 }], [echo({ autonomy: { spend_units: 2 } })])
  const outcomes = [await call(anyone, to()), await call(anyone, to()), await call(anyone, to())]
  assert.deepEqual(
    outcomes.map(({ denial }) => denial?.details?.['used']),
    [undefined, undefined, '4'],
  )
})

test('the bytes of results are counted, chunks too, and more than was reserved goes no further [H-99]', async () => {
  const answers = doing({ worstCase: { bytes: 100 }, modes: ['sync', 'stream'] }, async function* (input) {
    const { chunks = 0, size = 0 } = input as { chunks?: number; size?: number }
    for (let index = 0; index < chunks; index++) yield 'x'.repeat(size)
    return 'x'.repeat(size)
  })
  const { call, used, events } = await givenBudgets([{ ...all, name: 'b', bytes: 350 }], [answers])
  const answer = (payload: object) => call(anyone, to('test.do', { payload }))
  assert.equal((await answer({ size: 18 })).success, true)
  assert.equal((await answer({ size: 18, chunks: 2 })).success, true)
  assert.equal((await used())[0]?.['bytes'], 80)
  for (const payload of [{ size: 99 }, { size: 40, chunks: 3 }]) {
    const { outcome, error, data } = await answer(payload)
    assert.deepEqual([outcome, error?.code, data], ['failure', 'result_too_large', null])
    assert(!JSON.stringify((await events()).at(-1)).includes('xxx'))
  }
  assert.equal((await used())[0]?.['bytes'], 280)
  assert.match((await answer({ size: 1 })).denial?.message ?? '', /^budget `b` has 70 of 350 bytes left, and .* 100; /)
})

test('a call that another gate refuses, and a preview, take nothing [H-99]', async () => {
  const strict = echo({ input: { type: 'object', required: ['n'] } })
  const { call, used, host } = await givenBudgets([{ ...all, name: 'b', calls: 1 }], [strict])
  assert.equal((await call(anyone, to())).denial?.code, 'input_schema_validation_failed')
  assert.equal((await host.gateway.preview(anyone, to('test.echo', { payload: { n: 1 } }))).outcome, 'allowed')
  assert.deepEqual(await used(), [])
  assert.equal((await call(anyone, to('test.echo', { payload: { n: 1 } }))).success, true)
  const preview = await host.gateway.preview(anyone, to('test.echo', { payload: { n: 1 } }))
  assert.deepEqual([preview.outcome, preview.gate, preview.denial?.code], ['denied', '8', 'budget_exceeded'])
})

test('a call that is carried out later is counted once, and settled when it ends [H-99]', async () => {
  const ending = Promise.withResolvers<void>()
  const later = doing({ modes: ['async'], worstCase: { bytes: 100 } }, () => ending.promise.then(() => 'x'))
  const { call, used, host } = await givenBudgets([{ ...all, name: 'b', calls: 9, bytes: 500 }], [later])
  assert.equal((await call(anyone, to('test.do', { mode: 'async' }))).success, true)
  assert.deepEqual(await used(), [{ calls: 1, time_ms: 0, cost: 0, bytes: 100 }])
  ending.resolve()
  await host.gateway.close()
  assert.deepEqual(await used(), [{ calls: 1, time_ms: 0, cost: 0, bytes: 3 }])
})

test('a failure counts, a recorded result does not, and windows of long ago are dropped [H-99]', async () => {
  const failing = doing({}, () => assert.fail())
  const { call, used, host, clock } = await givenBudgets([{ ...all, name: 'b', every: 60, calls: 2 }], [failing])
  const once = to('test.do', { invocation_id: 'one' })
  assert.equal((await call(anyone, once)).outcome, 'failure')
  assert.equal((await call(anyone, once)).replayed, true)
  assert.equal((await used())[0]?.['calls'], 1)
  clock.advance(24 * hour)
  await host.gateway.tidyUp()
  assert.equal((await used()).length, 1)
  clock.advance(60_000)
  await host.gateway.tidyUp()
  assert.deepEqual(await used(), [])
})

test('budgets are exact under fifty calls at once; who loses leaves the event and the denial alone [H-99 H-39]', async () => {
  let runs = 0
  const count = doing({ worstCase: { cost: 2 } }, () => ++runs)
  const given = await givenHost({
    capabilities: [count],
    budgets: [
      { ...all, name: 'calls', calls: 9 },
      { ...all, name: 'cost', cost: '13.5' },
    ],
    safety: () => ({ approved: true, level: 'none', score: 0 }),
  })
  const results = await Promise.all(Array.from({ length: 50 }, () => given.call(anyone, to('test.do'))))
  assert.deepEqual([runs, results.filter(({ success }) => success).length], [6, 6])
  const events = await given.events()
  for (const { invocation_id, success, denial } of results) {
    if (success) continue
    assert.equal(denial?.code, 'budget_exceeded')
    const own = events.filter((event) => event.invocation_id === invocation_id)
    assert.deepEqual(typesOf(own), ['budget_exceeded', 'execution_denied'])
  }
})

describe('a budget that cannot be meant is refused before the first call [H-99]', () => {
  const load = (...budgets: Budget[]) => makeOffer('me', { capabilities: [echo()], budgets })
  test.each<[string, Budget[], RegExp]>([
    [
      'two of one name',
      [
        { ...all, name: 'a', calls: 1 },
        { ...all, name: 'a', calls: 2 },
      ],
      /`\/host\/budgets\/1`.*two budgets `a`/,
    ],
    ['one that limits nothing', [{ ...all, name: 'a' }], /budget `a` limits nothing/],
    [
      'no room for the time of one call',
      [{ ...all, name: 'a', time_ms: 29_999 }],
      /29999 ms has no room.*`test\.echo`.*30000/,
    ],
    ['no room for one result', [{ ...all, name: 'a', bytes: 1_000 }], /1000 bytes has no room.*1048576/],
  ])('%s', (_, budgets, message) => {
    assert.throws(() => load(...budgets), { code: 'field.invalid', message })
  })
  test('a budget that is about no capability is no problem', () => {
    assert.equal(load({ ...all, name: 'a', applies_to: ['other.*'], bytes: 1 }).budgets.size, 0)
  })
})
