import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'vitest'
import { anyone, echo, givenHost, stillClock } from '../../test/support/host.ts'
import { type CapabilitySpec, defineCapability } from './capability.ts'

const day = 86_400_000

function counter(spec: Partial<CapabilitySpec> = {}) {
  let runs = 0
  const capability = defineCapability(
    { id: 'test.count', version: '1.0.0', description: 'Counts.', policy: {}, ...spec },
    async () => {
      await sleep(5)
      return ++runs
    },
  )
  return { capability, runs: () => runs }
}

const envelope = { capability_id: 'test.count', invocation_id: 'inv-1', payload: { n: 1 } }

test('a recorded id is answered with its result, and emits nothing [H-60]', async () => {
  const { capability, runs } = counter()
  const { call, events } = await givenHost({ capabilities: [capability] })
  const first = await call(anyone, envelope)
  const written = (await events()).length
  const again = await call(anyone, envelope)
  assert.deepEqual(again, { ...first, replayed: true })
  assert.deepEqual([runs(), (await events()).length], [1, written])
})

test.each([
  ['denied', { lifecycles: {} }, { policy: { auth_required: true } }],
  ['skipped', { lifecycles: { 'test.count': 'unavailable' as const } }, {}],
])('a call that was %s is on record too [H-60]', async (outcome, offer, spec) => {
  const { capability } = counter(spec)
  const { call, events } = await givenHost({ capabilities: [capability], ...offer })
  const first = await call(anyone, envelope)
  const written = (await events()).length
  assert.equal(first.outcome, outcome)
  assert.deepEqual(await call(anyone, envelope), { ...first, replayed: true })
  assert.equal((await events()).length, written)
})

test.each([
  ['payload', { payload: { n: 2 } }],
  ['a number as text', { payload: { n: '1' } }],
  ['version', { version: '1.0.0' }],
  ['a fact in metadata', { metadata: { ticket: 'B' } }],
  ['range', { requested_capability_version: '1' }],
  ['purpose', { metadata: { purpose: 'other' } }],
  ['context', { metadata: { context: { a: 1 } } }],
  ['environment', { correlation: { environment: 'prod' } }],
  ['mandate', { mandate: {} }],
  ['capability', { capability_id: 'test.echo' }],
])('the same id with another %s is refused, and the record stays [H-61]', async (_, other) => {
  const { capability, runs } = counter()
  const { call, events } = await givenHost({ capabilities: [capability, echo()] })
  const first = await call(anyone, envelope)
  const written = (await events()).length
  const reused = await call(anyone, { ...envelope, ...other })
  assert.deepEqual(
    [reused.denial?.code, reused.denial?.details?.['reason'], reused.data, reused.evidence_ids],
    ['policy_blocked', 'invocation_id_reused', null, []],
  )
  assert.deepEqual(await call(anyone, envelope), { ...first, replayed: true })
  assert.deepEqual([runs(), (await events()).length], [1, written])
})

test('another caller neither reads nor blocks a recorded id; all keys of one principal are one caller [H-61]', async () => {
  const { capability, runs } = counter()
  const { call, caller, host } = await givenHost({ capabilities: [capability] })
  const [ida, jo] = [await caller({ id: 'ida', kind: 'user' }), await caller({ id: 'jo', kind: 'user' })]
  assert.equal((await call(ida, envelope)).data, 1)
  const other = await call(jo, envelope)
  assert.deepEqual([other.data, other.replayed], [2, undefined])
  assert.equal((await call(anyone, { ...envelope, subject: { id: 'ida', verified: true } })).data, 3)
  assert.equal((await host.gateway.recorded(ida, 'inv-1'))?.data, 1)
  assert.equal((await host.gateway.recorded(jo, 'inv-1'))?.data, 2)
  assert.equal(await host.gateway.recorded(await caller({ id: 'kai', kind: 'user' }), 'inv-1'), undefined)
  assert.equal(runs(), 3)
})

test('names and ids that read alike when joined are apart [H-61]', async () => {
  const { capability } = counter()
  const { call } = await givenHost({ capabilities: [capability] })
  const as = (name: string, invocation_id: string) => call({ ...anyone, name }, { ...envelope, invocation_id })
  assert.equal((await as('a1:b', 'c')).data, 1)
  assert.equal((await as('a', '1:bc')).data, 2)
  assert.equal((await as('a1', ':bc')).data, 3)
})

test('fifty of the same at once run once, and all get the one result [H-62]', async () => {
  const { capability, runs } = counter()
  const { call } = await givenHost({ capabilities: [capability] })
  const results = await Promise.all(Array.from({ length: 50 }, () => call(anyone, envelope)))
  assert.equal(runs(), 1)
  assert.equal(results.filter(({ replayed }) => replayed !== true).length, 1)
  assert.deepEqual(new Set(results.map(({ data }) => data)), new Set([1]))
  assert.equal(new Set(results.map(({ evidence_ids }) => evidence_ids.join())).size, 1)
})

test('of different calls at once under one id, one is carried out and the others are refused [H-61 H-62]', async () => {
  const { capability, runs } = counter()
  const { call } = await givenHost({ capabilities: [capability] })
  const results = await Promise.all(Array.from({ length: 20 }, (_, n) => call(anyone, { ...envelope, payload: { n } })))
  assert.deepEqual([runs(), results.filter(({ success }) => success).length], [1, 1])
  for (const { success, denial } of results) assert(success || denial?.details?.['reason'] === 'invocation_id_reused')
})

test('a result is kept for a day, and longer where one is relied on [H-60]', async () => {
  const clock = stillClock()
  const optional = counter()
  const required = counter({ id: 'test.required', idempotency: 'required' })
  const { call, host } = await givenHost({ capabilities: [optional.capability, required.capability] }, { clock })
  const relied = { ...envelope, capability_id: 'test.required', invocation_id: 'inv-2' }
  await call(anyone, envelope)
  await call(anyone, relied)
  clock.advance(day - 1)
  await host.gateway.tidyUp()
  assert.equal((await call(anyone, envelope)).replayed, true)
  clock.advance(2)
  await host.gateway.tidyUp()
  assert.equal((await call(anyone, envelope)).replayed, undefined)
  assert.equal((await call(anyone, relied)).replayed, true)
  assert.deepEqual([optional.runs(), required.runs()], [2, 1])
})

test('a key that is not for a capability reads no result of it, though its principal made the call [H-61]', async () => {
  const { host, call, caller } = await givenHost({ capabilities: [echo()] })
  const agent = await caller({ id: 'planner', kind: 'agent' })
  await call(agent, { capability_id: 'test.echo', invocation_id: 'inv-1' })
  const read = (scopes: readonly string[]) => host.gateway.recorded({ ...agent, scopes }, 'inv-1')
  assert.equal(await read(['other.*']), undefined)
  assert.equal((await read(['test.*']))?.success, true)
})
