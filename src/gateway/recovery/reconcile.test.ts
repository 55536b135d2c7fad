import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import { approvalIdOf } from '../../../test/support/approvals.ts'
import { anyone, givenHost, stillClock, typesOf } from '../../../test/support/host.ts'
import { envelope, givenTwo } from '../../../test/support/two-hosts.ts'
import { limits } from '../../base/limits.ts'
import type { Budget } from '../../model/config/budget.ts'
import { openHost } from '../../runtime/hosting/host.ts'
import { makeOffer } from '../../runtime/hosting/offer.ts'
import { addApprover } from '../../runtime/identity/approvers.ts'
import { operator } from '../../runtime/identity/caller.ts'
import { takeClaim } from '../../storage/tables/claims.ts'
import { rows } from '../../storage/work.ts'
import { type CapabilitySpec, defineCapability } from '../capability.ts'

test('a store that is away before the intent: nothing ran, and the id may be used again [H-45]', async () => {
  const { second, failOn, runs } = await givenTwo()
  failOn('execution_started')
  await assert.rejects(second.gateway.invoke(anyone, envelope), { code: 'store.unavailable' })
  assert.equal(runs(), 0)
  failOn(undefined)
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.data, 1)
})

test('without a store after the effect, answer and record say once: outcome unknown [H-45 H-46]', async () => {
  const { second, failOn, runs, events } = await givenTwo()
  failOn('execution_completed')
  const { result } = await second.gateway.invoke(anyone, envelope)
  assert.deepEqual(
    [result.outcome, result.error?.code, result.error?.effect, runs()],
    ['indeterminate', 'outcome_not_recorded', 'done', 1],
  )
  failOn(undefined)
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, ['inv-1'])
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, [])
  const again = (await second.gateway.invoke(anyone, envelope)).result
  assert.deepEqual([again.outcome, again.replayed, runs()], ['indeterminate', true, 1])
  assert.equal(again.evidence_ids.length, 2)
  assert.notEqual(again.started_at, null)
  assert.equal((await events()).at(-1)?.event_type, 'execution_indeterminate')
})

test('a call that waited for people and was then interrupted is on record with its own start [H-45 H-46]', async () => {
  const { ambit, second, host, caller, clock, failOn, events } = await givenTwo({ policy: { approval_required: true } })
  const { subject } = await caller({ id: 'ida', kind: 'user' })
  await addApprover(ambit, operator(host.tenant), { principal: 'ida', roles: [] })
  const id = approvalIdOf((await second.gateway.invoke(anyone, envelope)).result)
  await second.gateway.decide(id, { principal: 'ida', subject: subject ?? { id: 'ida' } }, { decision: 'approve' })
  clock.advance(1000)
  failOn('execution_completed')
  await second.gateway.invoke(anyone, envelope)
  failOn(undefined)
  await second.gateway.tidyUp()
  const { result } = await second.gateway.invoke(anyone, envelope)
  assert.deepEqual([result.outcome, result.started_at], ['indeterminate', '2026-06-16T15:00:01.000Z'])
  const own = (await events()).filter(({ event_id }) => result.evidence_ids.includes(event_id))
  assert.deepEqual(typesOf(own), ['approval_grant_verified', 'execution_started', 'execution_indeterminate'])
})

test('an error of ours after the intent: the effect is unknown, and the call does not run on [H-45 H-46]', async () => {
  const unreadable = Object.defineProperty(new Error(), 'message', {
    get: () => {
      throw new Error('not to be read')
    },
  })
  const odd = defineCapability({ id: 'test.move', version: '1.0.0', description: 'Odd.', policy: {} }, () => {
    throw unreadable
  })
  const { host } = await givenHost({ capabilities: [odd] })
  const { result } = await host.gateway.invoke(anyone, envelope)
  assert.deepEqual(
    [result.outcome, result.error?.code, result.error?.effect],
    ['indeterminate', 'outcome_not_recorded', 'unknown'],
  )
  assert.deepEqual((await host.gateway.tidyUp()).interrupted, ['inv-1'])
  assert.equal((await host.gateway.invoke(anyone, envelope)).result.replayed, true)
})

const accepts: Partial<CapabilitySpec> = { modes: ['async'], worstCase: { bytes: 100 } }
const budget: Budget = { name: 'b', per: 'tenant', applies_to: ['*'], every: 'day', bytes: 500 }

test.each([
  { answer: 'failed', what: 'is not begun, and its first id is', ended: /^inv-1$/ },
  { answer: 'lost', what: 'is not carried out, and its second id is', ended: /^inv_/ },
] as const)(
  'a call for later whose acceptance $answer $what said not to have run, once, with what was reserved given back [H-45 H-46 H-67 H-99]',
  async ({ answer, ended }) => {
    const { second, failOn, runs, ambit } = await givenTwo(accepts, [budget])
    failOn('execution_completed', answer)
    const { result } = await second.gateway.invoke(anyone, { ...envelope, mode: 'async' })
    assert.deepEqual(
      [result.outcome, result.error?.code, result.error?.effect],
      ['indeterminate', 'outcome_not_recorded', 'none'],
    )
    failOn(undefined)
    const { interrupted } = await second.gateway.tidyUp()
    assert.equal(interrupted.length, 1)
    assert.match(interrupted[0] ?? '', ended)
    assert.equal(runs(), 0)
    assert.deepEqual((await second.gateway.tidyUp()).interrupted, [])
    const [used] = await ambit.store.read(() => rows('SELECT bytes FROM budget_uses'))
    assert.equal(used?.['bytes'], 0)
  },
)

test('a call of a process that is there is left alone; once it is taken for gone, its end is added, changes no record, and answers who asks again [H-45 H-46]', async () => {
  const { second, host, clock, hold, runs, events } = await givenTwo()
  const held = hold()
  const calling = second.gateway.invoke(anyone, envelope)
  await held.arrived
  assert.deepEqual((await host.gateway.tidyUp()).interrupted, [])
  clock.advance(60_000)
  assert.deepEqual((await host.gateway.tidyUp()).interrupted, ['inv-1'])
  held.release()
  assert.equal((await calling).result.outcome, 'indeterminate')
  assert.equal(runs(), 1)
  const again = (await host.gateway.invoke(anyone, envelope)).result
  assert.deepEqual([again.outcome, again.data, again.replayed, runs()], ['success', 1, true, 1])
  const types = (await events())
    .filter(({ invocation_id }) => invocation_id === 'inv-1')
    .map(({ event_type }) => event_type)
  assert.deepEqual(types, ['execution_started', 'execution_indeterminate'])
  const last = (await events()).at(-1)
  assert.deepEqual([last?.event_type, last?.correlation.causation_id], ['execution_completed', 'inv-1'])
})

test('an interrupted call is not run again because a day has passed [H-45 H-60]', async () => {
  const { second, host, clock, hold, runs } = await givenTwo()
  const { arrived, release } = hold()
  const running = second.gateway.invoke(anyone, envelope)
  await arrived
  clock.advance(60_000)
  await host.gateway.tidyUp()
  clock.advance(25 * 3_600_000)
  const { result } = await host.gateway.invoke(anyone, envelope)
  assert.deepEqual([result.outcome, result.replayed, runs()], ['indeterminate', true, 0])
  release()
  await running
})

test.each([
  ['runs', true],
  ['is still decided about', false],
])('closing waits for what %s, and gives the place of the process back [H-45]', async (_, runs) => {
  const { second, host, hold } = await givenTwo()
  const held = hold()
  const ended: string[] = []
  const calling = second.gateway.invoke(anyone, envelope).finally(() => ended.push('call'))
  if (runs) await held.arrived
  const closing = second.close().then(() => ended.push('host'))
  await held.arrived
  held.release()
  await closing
  assert.deepEqual([(await calling).result.outcome, ended], ['success', ['call', 'host']])
  await vi.waitFor(async () => assert.deepEqual((await host.gateway.tidyUp()).interrupted, []))
})

test('an intent of uncertain commit is ended if written, its reservation given back [H-45 H-46 H-99]', async () => {
  const all: Budget = { ...budget, cost: 10, time_ms: 100_000 }
  const { second, failOn, runs, ambit, clock } = await givenTwo({ worstCase: { bytes: 100, cost: 2 } }, [all])
  failOn('execution_started', 'lost')
  await assert.rejects(second.gateway.invoke(anyone, envelope), { code: 'store.unavailable' })
  failOn(undefined)
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, ['inv-1'])
  const [used] = await ambit.store.read(() => rows('SELECT bytes, cost, time_ms FROM budget_uses'))
  assert.deepEqual([{ ...used }, runs()], [{ bytes: 0, cost: 0, time_ms: 0 }, 0])
  const { result } = await second.gateway.invoke(anyone, envelope)
  assert.deepEqual([result.outcome, result.error?.effect], ['failure', 'none'])

  clock.advance(limits.requiredResultMs)
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.data, 1)
})

test('an id that is taken anew runs, whatever became of it before [H-45]', async () => {
  const { second, failOn, hold, clock } = await givenTwo()
  failOn('execution_completed', 'lost')
  await second.gateway.invoke(anyone, envelope)
  failOn(undefined)
  clock.advance(limits.requiredResultMs)
  const held = hold()
  const calling = second.gateway.invoke(anyone, envelope)
  await held.arrived
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, [])
  held.release()
  assert.equal((await calling).result.outcome, 'success')
})

test('an unreadable claim stops neither the others nor the start of a host [H-46]', async () => {
  const { ambit, host, second, leaveOpen } = await givenTwo()
  const broken = { scope: 'call', key: 'odd', fingerprint: '', owner: 'gone', body: '{' }
  await ambit.store.write(host.tenant, takeClaim(broken, 0))
  await leaveOpen()
  await assert.rejects(second.gateway.tidyUp(), SyntaxError)
  assert.equal((await second.gateway.recorded(anyone, 'inv-1'))?.outcome, 'indeterminate')
  await (await openHost(ambit, host.tenant, (hostId) => makeOffer(hostId, { capabilities: [] }))).close()
})

test('an id whose start is uncertain runs when it is taken anew, while others tidy up [H-45]', async () => {
  const { second, failOn } = await givenTwo()
  failOn('execution_started', 'unknown')
  await assert.rejects(second.gateway.invoke(anyone, envelope), { code: 'store.unavailable' })
  const slow = Promise.withResolvers<void>()
  failOn('execution_started', slow.promise)
  const calling = second.gateway.invoke(anyone, envelope)
  await vi.waitFor(async () => assert.deepEqual((await second.gateway.tidyUp()).interrupted, []))
  slow.resolve()
  assert.equal((await calling).result.data, 1)
})

test('an uncertain start does not end the call that took its id meanwhile [H-45]', async () => {
  const { second, failOn, met, hold, events } = await givenTwo()
  const held = hold()
  const [late, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  failOn('execution_started', { unknownAfter: late.promise })
  const first = second.gateway.invoke(anyone, envelope)
  await vi.waitFor(() => assert.equal(met(), 1))
  failOn('execution_started', slow.promise)
  const again = second.gateway.invoke(anyone, envelope)
  await vi.waitFor(() => assert.equal(met(), 2))
  late.resolve()
  await assert.rejects(first, { code: 'store.unavailable' })
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, [])
  slow.resolve()
  await held.arrived
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, [])
  held.release()
  assert.equal((await again).result.outcome, 'success')
  assert.deepEqual(typesOf(await events()).slice(-2), ['execution_started', 'execution_completed'])
})

test('an uncertain start takes nothing from the ended call that took its id [H-45 H-99]', async () => {
  const clock = stillClock()
  const budgets: Budget[] = [{ ...budget, cost: 10 }]
  const { second, failOn, met, ambit } = await givenTwo({}, budgets, { capability: spends(clock), clock })
  const late = Promise.withResolvers<void>()
  failOn('execution_started', { unknownAfter: late.promise })
  const first = second.gateway.invoke(anyone, envelope)
  await vi.waitFor(() => assert.equal(met(), 1))
  failOn('execution_completed')
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.error?.effect, 'done')
  late.resolve()
  await assert.rejects(first, { code: 'store.unavailable' })
  failOn(undefined)
  await second.gateway.tidyUp()
  assert.equal((await second.gateway.recorded(anyone, 'inv-1'))?.error?.effect, 'done')
  const [used] = await ambit.store.read(() => rows('SELECT cost FROM budget_uses'))
  assert.equal(used?.['cost'], 1_000_000)
})

test('an end that cannot be written for hours is written at last [H-45]', async () => {
  const { second, failOn, clock } = await givenTwo()
  failOn('execution_completed')
  await second.gateway.invoke(anyone, envelope)
  failOn('execution_indeterminate')
  await assert.rejects(second.gateway.tidyUp(), { code: 'store.unavailable' })
  clock.advance(4_000_000)
  await assert.rejects(second.gateway.tidyUp(), { code: 'store.unavailable' })
  failOn(undefined)
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, ['inv-1'])
})

test('what a call that failed has really taken is counted, though its end is written late [H-45 H-99]', async () => {
  const all: Budget = { ...budget, cost: 10, time_ms: 100_000 }
  const clock = stillClock()
  const fails = defineCapability(
    { id: 'test.move', version: '1.0.0', description: 'Fails.', policy: {}, worstCase: { bytes: 100, cost: 5 } },
    async (_, { spent }) => {
      spent(2)
      clock.advance(700)
      throw new Error('bad')
    },
  )
  const { second, failOn, ambit } = await givenTwo({}, [all], { capability: fails, clock })
  failOn('execution_failed')
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.error?.effect, 'none')
  failOn(undefined)
  await second.gateway.tidyUp()
  const [used] = await ambit.store.read(() => rows('SELECT bytes, cost, time_ms FROM budget_uses'))
  assert.deepEqual({ ...used }, { bytes: 0, cost: 2_000_000, time_ms: 700 })
  const { result } = await second.gateway.invoke(anyone, envelope)
  assert.deepEqual(
    [result.outcome, result.error?.message],
    ['failure', 'the handler ended, and its outcome could not be recorded'],
  )
})

test('an uncertain start, tried twice, has not run either [H-45]', async () => {
  const { second, failOn, runs } = await givenTwo()
  for (const answer of ['unknown', 'lost'] as const) {
    failOn('execution_started', answer)
    await assert.rejects(second.gateway.invoke(anyone, envelope), { code: 'store.unavailable' })
  }
  failOn(undefined)
  await second.gateway.tidyUp()
  const { result } = await second.gateway.invoke(anyone, envelope)
  assert.deepEqual([result.outcome, result.error?.effect, runs()], ['failure', 'none', 0])
})

test('closing does not wait for a call that another process runs [H-45]', async () => {
  const { second, host, hold } = await givenTwo()
  const held = hold()
  const calling = second.gateway.invoke(anyone, envelope)
  await held.arrived
  const again = host.gateway.invoke(anyone, envelope)
  const closing = host.close()
  await assert.rejects(again, { code: 'call.in_progress' })
  await closing
  held.release()
  assert.equal((await calling).result.outcome, 'success')
})

const spends = (clock: ReturnType<typeof stillClock>, entered?: () => Promise<void>) =>
  defineCapability(
    { id: 'test.move', version: '1.0.0', description: 'Spends.', policy: {}, worstCase: { bytes: 100, cost: 5 } },
    async (_, { spent }) => {
      await entered?.()
      spent(1)
      clock.advance(700)
      return 'done'
    },
  )

test('a host that closes writes what it knows of calls whose end could not be written [H-45 H-99]', async () => {
  const clock = stillClock()
  const budgets: Budget[] = [{ ...budget, cost: 10 }]
  const { host, second, failOn, ambit } = await givenTwo({}, budgets, { capability: spends(clock), clock })
  failOn('execution_completed')
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.error?.effect, 'done')
  failOn(undefined)
  await second.close()
  assert.equal((await host.gateway.recorded(anyone, 'inv-1'))?.error?.effect, 'done')
  const [used] = await ambit.store.read(() => rows('SELECT bytes, cost FROM budget_uses'))
  assert.deepEqual({ ...used }, { bytes: 6, cost: 1_000_000 })
})

test('a host closes though it cannot write what it knows [H-45]', async () => {
  const { host, second, failOn } = await givenTwo()
  failOn('execution_completed')
  await second.gateway.invoke(anyone, envelope)
  failOn('execution_indeterminate')
  await second.close()
  assert.deepEqual((await host.gateway.tidyUp()).interrupted, ['inv-1'])
})

test.each([
  { says: 'done', used: { bytes: 6, cost: 1_000_000, time_ms: 60_700 } },
  // What was given back is not given back again.
  { says: 'none', used: { bytes: 0, cost: 0, time_ms: 30_000 } },
  { says: 'nothing', used: { bytes: 6, cost: 1_000_000, time_ms: 60_700 } },
] as const)(
  'a call that others took for gone is counted with what it took, once, though they said $says of it meanwhile [H-46 H-99]',
  async ({ says, used }) => {
    const clock = stillClock()
    const [entered, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const arrive = () => {
      entered.resolve()
      return held.promise
    }
    const capability = {
      ...spends(clock, arrive),
      ...(says !== 'nothing' && { reconcile: () => ({ effect: says }) }),
    }
    const budgets: Budget[] = [{ ...budget, cost: 10, time_ms: 100_000 }]
    const { host, second, ambit } = await givenTwo({}, budgets, { capability, clock })
    const calling = second.gateway.invoke(anyone, envelope)
    await entered.promise
    clock.advance(60_000)
    await host.gateway.tidyUp()
    held.resolve()
    assert.equal((await calling).result.error?.effect, 'done')
    await host.gateway.tidyUp()
    // Who carried it out knows better than who was asked.
    const { outcome, data } = (await host.gateway.recorded(anyone, 'inv-1')) ?? {}
    assert.deepEqual([outcome, data], ['success', 'done'])
    const [found] = await ambit.store.read(() => rows('SELECT bytes, cost, time_ms FROM budget_uses'))
    assert.deepEqual({ ...found }, used)
  },
)
