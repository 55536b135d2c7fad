import assert from 'node:assert/strict'
import { expect, onTestFinished, test, vi } from 'vitest'
import { anyone, recordOf } from '../../../test/support/host.ts'
import { envelope, givenTwo } from '../../../test/support/two-hosts.ts'
import { limits } from '../../base/limits.ts'
import type { Budget } from '../../model/config/budget.ts'
import type { EvidenceEvent } from '../../model/evidence.ts'
import { openHost } from '../../runtime/hosting/host.ts'
import { makeOffer } from '../../runtime/hosting/offer.ts'
import { rows } from '../../storage/work.ts'
import { type CapabilitySpec, defineCapability, type Reconciled } from '../capability.ts'

test.each([
  ['done', { effect: 'done' }, 'execution_completed', ['success', 'result_not_known', 'done', null]],
  ['done, with data', { effect: 'done', data: 7 }, 'execution_completed', ['success', undefined, undefined, 7]],
  [
    'done, with odd data',
    { effect: 'done', data: 'x' },
    'execution_completed',
    ['success', 'result_not_known', 'done', null],
  ],
  ['none', { effect: 'none' }, 'execution_failed', ['failure', 'not_executed', 'none', null]],
  ['unknown', { effect: 'unknown' }, undefined, ['indeterminate', 'outcome_not_recorded', 'unknown', null]],
  ['an error', undefined, undefined, ['indeterminate', 'outcome_not_recorded', 'unknown', null]],
  ['a bare word', 'none' as never, undefined, ['indeterminate', 'outcome_not_recorded', 'unknown', null]],
  ['another word', { effect: 'None' } as never, undefined, ['indeterminate', 'outcome_not_recorded', 'unknown', null]],
] as const)(
  'a capability that finds %s has that appended, the record stays, and who asks again is answered with it [H-46]',
  async (_, found, type, answer) => {
    const { second, leaveOpen, events, runs } = await givenTwo({
      output: { type: 'integer' },
      reconcile: ({ invocationId }) => {
        assert.equal(invocationId, 'inv-1')
        if (found === undefined) throw new Error('no idea')
        return found
      },
    })
    await leaveOpen()
    await second.gateway.tidyUp()
    const [last, before] = (await events()).toReversed()
    if (type === undefined) assert.equal(last?.event_type, 'execution_indeterminate')
    else {
      assert.deepEqual([before?.event_type, last?.event_type], ['execution_indeterminate', type])
      assert.deepEqual([last?.correlation.causation_id, last?.correlation.correlation_id], ['inv-1', 'task'])
      assert.notEqual(last?.invocation_id, 'inv-1')
    }
    assert.notEqual(recordOf(before), undefined)
    const result = await second.gateway.recorded(anyone, 'inv-1')
    assert.deepEqual([result?.outcome, result?.error?.code, result?.error?.effect, result?.data], answer)
    assert.deepEqual([result?.evidence_ids.at(-1), result?.evidence_ids.length], [last?.event_id, type ? 3 : 2])
    const again = (await second.gateway.invoke(anyone, envelope)).result
    assert.deepEqual([again, runs()], [{ ...result, replayed: true }, 0])
  },
)

test('a call whose handler goes on after its time is asked about once that has ended, by no process before [H-46]', async () => {
  const keys: string[] = []
  let done = false
  const asked = vi.fn((): Reconciled => ({ effect: done ? 'done' : 'none' }))
  const { second, host, hold, events } = await givenTwo({
    timeoutS: 0.05,
    reconcile: ({ idempotencyKey }) => {
      keys.push(idempotencyKey)
      return asked()
    },
  })
  const { release } = hold()
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.outcome, 'indeterminate')
  for (const each of [second, host]) await each.gateway.tidyUp()
  assert.equal(asked.mock.calls.length, 0)
  done = true
  release()
  await vi.waitFor(async () => assert.equal((await events()).at(-1)?.event_type, 'execution_completed'))
  assert.match(keys.join(), /^hmac-sha256:[0-9a-f]{64}$/)
})

test('a call that ran out of time is asked about by the next host, and by one of several at once [H-46]', async () => {
  const asked = vi.fn((): Reconciled => ({ effect: 'unknown' }))
  const { ambit, second, host, hold, clock, capability } = await givenTwo({ timeoutS: 0.05, reconcile: () => asked() })
  const { release } = hold()
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.outcome, 'indeterminate')
  release()
  await Promise.all([second.close(), host.close()])
  expect(asked).toHaveBeenCalledOnce()
  clock.advance(10_000)
  asked.mockReturnValue({ effect: 'done' })
  const open = () => openHost(ambit, host.tenant, (hostId) => makeOffer(hostId, { capabilities: [capability] }))
  const hosts = await Promise.all([open(), open(), open()])
  onTestFinished(async () => void (await Promise.all(hosts.map((each) => each.close()))))
  await Promise.all(hosts.map((each) => each.gateway.tidyUp()))
  expect(asked).toHaveBeenCalledTimes(2)
  for (const each of hosts) assert.equal((await each.gateway.recorded(anyone, 'inv-1'))?.outcome, 'success')
})

test('a capability that cannot find out is not asked, and one that is not offered is asked once it is [H-46]', async () => {
  const { ambit, second, host, leaveOpen, clock } = await givenTwo()
  const states = async () =>
    (await ambit.store.read(() => rows('SELECT state FROM claims ORDER BY claim_key'))).map(({ state }) => state)
  await leaveOpen()
  await second.gateway.tidyUp()
  assert.deepEqual(await states(), ['settled'])

  await leaveOpen('inv-2')
  second.offer(makeOffer(second.hostId, { capabilities: [] }))
  await second.gateway.tidyUp()
  assert.deepEqual(await states(), ['settled', 'unknown'])
  const finding = defineCapability(
    { id: 'test.move', version: '1.0.0', description: 'Moves.', policy: {}, reconcile: () => ({ effect: 'none' }) },
    () => null,
  )
  second.offer(makeOffer(second.hostId, { capabilities: [finding] }))
  clock.advance(10_000)
  await second.gateway.tidyUp()
  assert.equal((await host.gateway.recorded(anyone, 'inv-2'))?.error?.code, 'not_executed')
})

test('a capability that does not know yet is asked again, ever more rarely, until it does [H-46]', async () => {
  const asked: number[] = []
  let knows = false
  const { second, clock, leaveOpen, events } = await givenTwo({
    reconcile: () => {
      asked.push(clock.now())
      return { effect: knows ? 'done' : 'unknown' }
    },
  })
  await leaveOpen()
  for (let turn = 0; turn < 200; turn++) {
    await second.gateway.tidyUp()
    knows = asked.length === 4
    clock.advance(5_000)
  }
  const pauses = asked.slice(1).map((at, index) => at - (asked[index] ?? 0))
  assert.deepEqual(pauses, [10_000, 40_000, 160_000, 640_000])
  assert.equal((await events()).at(-1)?.event_type, 'execution_completed')
})

test('a capability that never knows is left alone in the end [H-46]', async () => {
  let asked = 0
  const { second, clock, leaveOpen } = await givenTwo({
    reconcile: () => {
      asked++
      throw new Error('no idea')
    },
  })
  await leaveOpen()
  for (let turn = 0; turn < 20; turn++) {
    await second.gateway.tidyUp()
    clock.advance(7 * 86_400_000)
  }
  assert.equal(asked, limits.reconcileAsksMax)
})

test('a call that ran out of time is found out about, while its caller has an answer [H-46 H-66]', async () => {
  const { host, hold, events } = await givenTwo({ timeoutS: 0.05, reconcile: () => ({ effect: 'done' }) })
  const { release } = hold()
  assert.equal((await host.gateway.invoke(anyone, envelope)).result.outcome, 'indeterminate')
  release()
  await vi.waitFor(async () => {
    const last = (await events()).at(-1)
    assert.deepEqual([last?.event_type, last?.correlation.causation_id], ['execution_completed', 'inv-1'])
  })
})

test('a capability that never says what came of a call holds up nothing else [H-46]', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const asked = vi.fn(() => new Promise<never>(() => undefined))
  const { second, leaveOpen, host } = await givenTwo({ reconcile: asked })
  await leaveOpen()
  await vi.advanceTimersByTimeAsync(5_000)
  await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce())
  const tidying = second.gateway.tidyUp()
  await vi.advanceTimersByTimeAsync(limits.reconcileMs)
  assert.deepEqual((await tidying).interrupted, [])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(asked).toHaveBeenCalledOnce()

  const closing = Promise.all([second.gateway.close(), host.gateway.close()])
  await vi.advanceTimersByTimeAsync(limits.reconcileMs)
  await closing
})

const costly: Budget = { name: 'c', per: 'tenant', applies_to: ['*'], every: 'day', cost: 10 }

/** What was added to the record of calls of unknown outcome. */
const foundOut = async (events: () => Promise<readonly EvidenceEvent[]>) =>
  (await events()).filter(({ payload }) => 'reconciles' in payload)

async function givenCostly(reconcile: NonNullable<CapabilitySpec['reconcile']>) {
  const given = await givenTwo({ reconcile, worstCase: { cost: 2 } }, [costly])
  const used = async () => (await given.ambit.store.read(() => rows('SELECT cost FROM budget_uses')))[0]?.['cost']
  return { ...given, used, found: () => foundOut(given.events) }
}

test.each(['failed', 'busy', 'unknown', 'lost'] as const)(
  'what a capability has found out and whose writing %s is asked for again, and is on record once, with its cost given back once [H-46 H-99]',
  async (answer) => {
    const asked = vi.fn(() => ({ effect: 'none' as const }))
    const { second, failOn, leaveOpen, clock, used, found } = await givenCostly(asked)
    await leaveOpen()
    failOn('execution_failed', answer)
    assert.deepEqual((await second.gateway.tidyUp()).interrupted, ['inv-1'])
    assert.equal(await used(), answer === 'lost' ? 0 : 2_000_000)
    failOn(undefined)
    clock.advance(60_000)
    await second.gateway.tidyUp()
    // What is on record answers the call, whether this process heard of it or not.
    expect(asked).toHaveBeenCalledTimes(answer === 'lost' ? 1 : 2)
    assert.deepEqual([await used(), (await found()).length], [0, 1])
    assert.equal((await second.gateway.recorded(anyone, 'inv-1'))?.error?.code, 'not_executed')
  },
)

test('a call that cannot be ended does not keep others from being ended and asked about [H-46]', async () => {
  const asked: string[] = []
  const { second, failOn, leaveOpen } = await givenTwo({
    reconcile: ({ invocationId }) => {
      asked.push(invocationId)
      return { effect: 'done' }
    },
  })
  for (const id of ['a', 'b', 'c']) await leaveOpen(id)
  failOn('execution_indeterminate', 'failed', 'b')
  await assert.rejects(second.gateway.tidyUp(), { code: 'store.unavailable' })
  assert.deepEqual(asked, ['a', 'c'])
  failOn(undefined)
  assert.deepEqual([(await second.gateway.tidyUp()).interrupted, asked], [['b'], ['a', 'c', 'b']])
})

test('a call whose end is on record without anybody having heard so is asked about [H-46]', async () => {
  const { second, failOn, leaveOpen, found } = await givenCostly(() => ({ effect: 'done' }))
  await leaveOpen()
  failOn('execution_indeterminate', 'lost')
  await assert.rejects(second.gateway.tidyUp(), { code: 'store.unavailable' })
  assert.equal((await found()).length, 1)
})

test('what two processes say alike of a call is on record once [H-46]', async () => {
  const { second, host, clock, hold, found } = await givenCostly(() => ({ effect: 'done' }))
  const held = hold()
  const calling = second.gateway.invoke(anyone, envelope)
  await held.arrived
  clock.advance(60_000)
  await host.gateway.tidyUp()
  held.release()
  assert.equal((await calling).result.error?.effect, 'done')
  assert.equal((await found()).length, 1)
})

test('closing waits a little for what is being found out, and takes no more calls [H-46]', async () => {
  const answer = Promise.withResolvers<{ effect: 'done' }>()
  const { second, hold, events } = await givenTwo({ timeoutS: 0.05, reconcile: () => answer.promise })
  const { release } = hold()
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.outcome, 'indeterminate')
  release()
  await new Promise(setImmediate)
  const closing = second.close()
  await assert.rejects(second.gateway.invoke(anyone, envelope), { code: 'host.closed' })
  answer.resolve({ effect: 'done' })
  await closing
  assert.equal((await foundOut(events)).length, 1)
})

test('a call for later that others took for gone is known not to have run, and that is added [H-46 H-67 H-99]', async () => {
  const given = await givenTwo({ modes: ['async'], worstCase: { cost: 2 } }, [costly])
  const { second, host, clock, failOn, met, ambit, events } = given
  const slow = Promise.withResolvers<void>()
  failOn('execution_started', slow.promise)
  const calling = second.gateway.invoke(anyone, { ...envelope, mode: 'async' })
  await vi.waitFor(() => assert.equal(met(), 1))
  clock.advance(60_000)
  assert.deepEqual((await host.gateway.tidyUp()).interrupted, ['inv-1'])
  failOn(undefined)
  slow.resolve()
  assert.equal((await calling).result.error?.effect, 'none')
  const [used] = await ambit.store.read(() => rows('SELECT cost FROM budget_uses'))
  assert.deepEqual([used?.['cost'], (await foundOut(events)).length], [0, 1])
})
