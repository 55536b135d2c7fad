// One effect has one key over all runs: whoever asks again gets what it came to, and nobody else anything.

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { systemClock } from '../../src/runtime/system.ts'
import { scenario } from '../support/contract.ts'
import { givenInvoked } from '../support/invoked.ts'
import { ended, type Place } from '../support/runs.ts'

/** The packs with a template whose post takes its key from the request. */
const keyed = (name: string): string =>
  scenario(name).replace(
    'currency: { $expr: { var: request.context.currency } }',
    'currency: { $expr: { var: request.context.currency } }\n          idempotency_key: { $expr: { var: request.context.key } }',
  )

const key = 'ik_2x9k4j7m1q8w0p3z'
const delegated = { run_context: { safety_mode: 'delegated' as const } }

const givenKeyed = (place: Place = {}) => givenInvoked({}, place, keyed)
type Given = Awaited<ReturnType<typeof givenKeyed>>

const lastPost = async ({ ambit }: Given, runId: string) => {
  for await (const { type, data } of ambit.runs.events(runId))
    if (type === 'tool.finished' && data['tool'] === 'adp_ledger.post_write_off') return data
  return undefined
}

const post = async (given: Given, context: Readonly<Record<string, string | number>>, user = 'usr_214') => {
  const request = given.request({}, { amount_minor: 180_000, key, ...context })
  const asked = { ...request, user: { ...request.user, user_id: user } }
  const { run_id } = await given.ambit.invokeAgent(asked, delegated)
  assert.deepEqual((await given.ambit.replay.run(run_id)).diffs, [])
  return { run_id, record: await given.ambit.decisions.show(run_id), said: await lastPost(given, run_id) }
}

test('a key that was settled answers another run with what it came to, and nothing runs again [R-111]', async () => {
  const given = await givenKeyed()
  const first = await post(given, {})
  const again = await post(given, {})
  assert.deepEqual([first.record.status, again.record.status], ['DECIDED', 'DECIDED'])
  assert.equal(given.reached.get('adp_ledger.post_write_off'), 1)
  assert.deepEqual(again.said?.['output'], first.said?.['output'])
  assert.equal(again.said?.['idempotent_of'], first.said?.['call_id'])
  const { events } = await given.ambit.evidence.list({ correlation: again.run_id, type: 'execution_skipped' })
  assert.equal(events.length, 1)
})

test('the same key with other arguments, or for another originator, is refused, and runs and returns nothing [R-111 R-121]', async () => {
  const given = await givenKeyed()
  await post(given, {})
  for (const other of [await post(given, { amount_minor: 170_000 }), await post(given, {}, 'usr_999')]) {
    assert.deepEqual([other.said?.['status'], other.said?.['output']], ['rejected', null])
    assert.equal((other.said?.['error'] as { code?: string } | undefined)?.code, 'idempotency_conflict')
  }
  assert.equal(given.reached.get('adp_ledger.post_write_off'), 1)
})

test('a key without its form is rejected before anything runs [R-80]', async () => {
  const given = await givenKeyed()
  for (const bad of ['ik_ABC', 'x']) {
    const { said } = await post(given, { key: bad })
    assert.equal((said?.['error'] as { code?: string } | undefined)?.code, 'idempotency_key_invalid', bad)
  }
  assert.equal(given.reached.get('adp_ledger.post_write_off'), undefined)
})

test('a call that certainly did nothing leaves its key open [R-111]', async () => {
  const script = [{ error: 'adapter_error' }, { output: { posting: 'led_2' } }]
  const given = await givenInvoked({ 'adp_ledger.post_write_off': script }, {}, keyed)
  const first = await post(given, {})
  assert.notEqual(first.record.status, 'DECIDED')
  const second = await post(given, {})
  assert.equal(second.record.status, 'DECIDED')
  assert.equal(given.reached.get('adp_ledger.post_write_off'), 2)
})

test('of many runs with one key at once one takes effect, and all come to the same [R-111]', async () => {
  // One that finds another under way asks again a little later.
  const given = await givenKeyed({ clock: systemClock })
  const runs = await Promise.all(
    Array.from({ length: 6 }, () =>
      given.ambit.invokeAgent(given.request({}, { amount_minor: 180_000, key }), delegated),
    ),
  )
  for (const { run_id } of runs) {
    assert.equal((await ended(given, run_id)).status, 'completed')
    assert.equal((await given.ambit.decisions.show(run_id)).status, 'DECIDED')
  }
  assert.equal(given.reached.get('adp_ledger.post_write_off'), 1)
})
