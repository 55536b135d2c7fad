import assert from 'node:assert/strict'
import { expect, onTestFinished, test, vi } from 'vitest'
import { approvalIdOf } from '../../test/support/approvals.ts'
import { anyone, givenHost, recordOf, stillClock, typesOf } from '../../test/support/host.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Budget } from '../model/budget.ts'
import { addApprover } from '../runtime/approvers.ts'
import { operator } from '../runtime/caller.ts'
import { openHost } from '../runtime/host.ts'
import { makeOffer } from '../runtime/offer.ts'
import type { Store } from '../storage/store.ts'
import { rows } from '../storage/work.ts'
import { type CapabilitySpec, defineCapability } from './capability.ts'

const envelope = { capability_id: 'test.move', invocation_id: 'inv-1', correlation: { correlation_id: 'task' } }

/** A second gateway on the store of the first, whose commits can be made to fail. */
async function givenTwo(spec: Partial<CapabilitySpec> = {}, budgets: readonly Budget[] = []) {
  const clock = stillClock()
  let runs = 0
  let gate = Promise.resolve()
  let entered = (): void => undefined
  const move = defineCapability(
    { id: 'test.move', version: '1.0.0', description: 'Moves.', policy: {}, effects: ['stock.move'], ...spec },
    async () => {
      entered()
      await gate
      return ++runs
    },
  )
  const given = await givenHost({ capabilities: [move] }, { clock })
  let failing = (_: readonly string[]): boolean => false
  let lost = false
  const store: Store = {
    ...given.ambit.store,
    commit: async (of, commit) => {
      if (failing(commit.events.map(({ event_type }) => event_type))) {
        if (lost) await given.ambit.store.commit(of, commit)
        throw new Failure('store.unavailable', 'the disk is full', { outcome: lost ? 'unknown' : 'none' })
      }
      return given.ambit.store.commit(of, commit)
    },
  }
  const second = await openHost({ ...given.ambit, store }, given.host.tenant, (hostId) =>
    makeOffer(hostId, { capabilities: [move], budgets }),
  )
  return {
    ...given,
    clock,
    second,
    runs: () => runs,
    /** Makes a commit with such an event fail; or makes its answer get lost. */
    failOn: (type: string | undefined, answer: 'lost' | 'failed' = 'failed') => {
      lost = answer === 'lost'
      failing = (types) => type !== undefined && types.includes(type)
    },
    /** Holds the handler until it is let go. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      const arrived = new Promise<void>((done) => {
        entered = done
      })
      return { arrived, release: resolve }
    },
  }
}

test('a store that is away before the intent: nothing ran, and the id may be used again [H-45]', async () => {
  const { second, failOn, runs } = await givenTwo()
  failOn('execution_started')
  await assert.rejects(second.gateway.invoke(anyone, envelope), { code: 'store.unavailable' })
  assert.equal(runs(), 0)
  failOn(undefined)
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.data, 1)
})

test('a store that is away after the effect: the answer is that nobody knows, and so is the record, once [H-45 H-46]', async () => {
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

test('what goes wrong here after the intent is a result too: nobody knows, and the call does not run for ever [H-45 H-46]', async () => {
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
  'a call for later whose acceptance $answer $what called indeterminate once, with what was reserved given back [H-45 H-46 H-67 H-99]',
  async ({ answer, ended }) => {
    const { second, failOn, runs, ambit } = await givenTwo(accepts, [budget])
    failOn('execution_completed', answer)
    const { result } = await second.gateway.invoke(anyone, { ...envelope, mode: 'async' })
    assert.deepEqual(
      [result.outcome, result.error?.code, result.error?.effect],
      ['indeterminate', 'outcome_not_recorded', 'unknown'],
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

test('a call of a process that is there is left alone; once it is taken for gone, its end is added and changes nothing on record [H-45 H-46]', async () => {
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
  assert.deepEqual([again.outcome, again.replayed, runs()], ['indeterminate', true, 1])
  const types = (await events())
    .filter(({ invocation_id }) => invocation_id === 'inv-1')
    .map(({ event_type }) => event_type)
  assert.deepEqual(types, ['execution_started', 'execution_indeterminate'])
  const last = (await events()).at(-1)
  assert.deepEqual([last?.event_type, last?.correlation.causation_id], ['execution_completed', 'inv-1'])
})

test.each([
  ['done', { effect: 'done' }, 'execution_completed'],
  ['none', { effect: 'none' }, 'execution_failed'],
  ['unknown', { effect: 'unknown' }, undefined],
  ['an error', undefined, undefined],
] as const)('a capability that finds %s has that appended, and the record stays [H-46]', async (_, found, type) => {
  const { second, failOn, events } = await givenTwo({
    reconcile: ({ invocationId }) => {
      assert.equal(invocationId, 'inv-1')
      if (found === undefined) throw new Error('no idea')
      return found
    },
  })
  failOn('execution_completed')
  await second.gateway.invoke(anyone, envelope)
  failOn(undefined)
  await second.gateway.tidyUp()
  const [last, before] = (await events()).toReversed()
  if (type === undefined) assert.equal(last?.event_type, 'execution_indeterminate')
  else {
    assert.deepEqual([before?.event_type, last?.event_type], ['execution_indeterminate', type])
    assert.deepEqual([last?.correlation.causation_id, last?.correlation.correlation_id], ['inv-1', 'task'])
    assert.notEqual(last?.invocation_id, 'inv-1')
  }
  assert.equal((await second.gateway.recorded(anyone, 'inv-1'))?.outcome, 'indeterminate')
  assert.notEqual(recordOf(before), undefined)
})

test('a capability that does not know yet is asked again, ever more rarely, until it does [H-46]', async () => {
  const asked: number[] = []
  let knows = false
  const { second, clock, failOn, events } = await givenTwo({
    reconcile: () => {
      asked.push(clock.now())
      return { effect: knows ? 'done' : 'unknown' }
    },
  })
  failOn('execution_completed')
  await second.gateway.invoke(anyone, envelope)
  failOn(undefined)
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
  const { second, clock, failOn } = await givenTwo({
    reconcile: () => {
      asked++
      throw new Error('no idea')
    },
  })
  failOn('execution_completed')
  await second.gateway.invoke(anyone, envelope)
  failOn(undefined)
  for (let turn = 0; turn < 20; turn++) {
    await second.gateway.tidyUp()
    clock.advance(7 * 86_400_000)
  }
  assert.equal(asked, limits.reconcileAsksMax)
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

test('a call that ran out of time is found out about, while its caller has an answer [H-46 H-66]', async () => {
  const { host, hold, events } = await givenTwo({ timeoutS: 0.05, reconcile: () => ({ effect: 'done' }) })
  const { release } = hold()
  assert.equal((await host.gateway.invoke(anyone, envelope)).result.outcome, 'indeterminate')
  await vi.waitFor(async () => {
    const last = (await events()).at(-1)
    assert.deepEqual([last?.event_type, last?.correlation.causation_id], ['execution_completed', 'inv-1'])
  })
  release()
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

test('a capability that never says what came of a call holds nobody up [H-46]', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const asked = vi.fn(() => new Promise<never>(() => undefined))
  const { second, failOn, host } = await givenTwo({ reconcile: asked })
  failOn('execution_completed')
  await second.gateway.invoke(anyone, envelope)
  failOn(undefined)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(asked).toHaveBeenCalledOnce()
  const tidying = second.gateway.tidyUp()
  await vi.advanceTimersByTimeAsync(limits.reconcileMs)
  assert.deepEqual((await tidying).interrupted, [])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(asked).toHaveBeenCalledOnce()

  const closing = Promise.all([second.gateway.close(), host.gateway.close()])
  await vi.advanceTimersByTimeAsync(2_000)
  await closing
})

test('an intent of which nobody knows whether it was written is ended if it was, with what it reserved given back [H-45 H-46 H-99]', async () => {
  const { second, failOn, runs, ambit, clock } = await givenTwo({ worstCase: { bytes: 100 } }, [budget])
  failOn('execution_started', 'lost')
  await assert.rejects(second.gateway.invoke(anyone, envelope), { code: 'store.unavailable' })
  failOn(undefined)
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, ['inv-1'])
  const [used] = await ambit.store.read(() => rows('SELECT bytes FROM budget_uses'))
  assert.deepEqual([used?.['bytes'], runs()], [0, 0])
  assert.equal((await second.gateway.invoke(anyone, envelope)).result.outcome, 'indeterminate')

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

test('what a capability has found out and could not be written is asked for again, and its cost given back once [H-46 H-99]', async () => {
  const costly: Budget = { name: 'c', per: 'tenant', applies_to: ['*'], every: 'day', cost: 10 }
  const asked = vi.fn(() => ({ effect: 'none' as const }))
  const { second, failOn, clock, ambit } = await givenTwo({ reconcile: asked, worstCase: { cost: 2 } }, [costly])
  const used = async () => (await ambit.store.read(() => rows('SELECT cost FROM budget_uses')))[0]?.['cost']
  failOn('execution_completed')
  await second.gateway.invoke(anyone, envelope)
  failOn('execution_failed')
  assert.deepEqual((await second.gateway.tidyUp()).interrupted, ['inv-1'])
  assert.equal(await used(), 2_000_000)
  failOn(undefined)
  clock.advance(60_000)
  await second.gateway.tidyUp()
  expect(asked).toHaveBeenCalledTimes(2)
  assert.equal(await used(), 0)
})
