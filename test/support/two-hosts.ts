// Two gateways on one store, the second of which has trouble with it.

import { Failure } from '../../src/base/failure.ts'
import { type Capability, type CapabilitySpec, defineCapability } from '../../src/gateway/capability.ts'
import { CallEnded } from '../../src/gateway/ended.ts'
import type { Budget } from '../../src/model/config/budget.ts'
import { openHost } from '../../src/runtime/hosting/host.ts'
import { makeOffer } from '../../src/runtime/hosting/offer.ts'
import type { Store } from '../../src/storage/store.ts'
import { anyone, givenHost, stillClock } from './host.ts'

export const envelope = { capability_id: 'test.move', invocation_id: 'inv-1', correlation: { correlation_id: 'task' } }

/** What becomes of a commit: nothing, and that is known or not; or all of it, and nobody hears of it, or only later. */
type Answer = 'failed' | 'busy' | 'unknown' | 'lost' | Promise<void> | { readonly unknownAfter: Promise<void> }

/** A second gateway on the store of the first, whose commits can be made to fail. */
export async function givenTwo(
  spec: Partial<CapabilitySpec> = {},
  budgets: readonly Budget[] = [],
  {
    capability,
    clock = stillClock(),
  }: { readonly capability?: Capability; readonly clock?: ReturnType<typeof stillClock> } = {},
) {
  let runs = 0
  let gate = Promise.resolve()
  let entered = (): void => undefined
  let knows = true
  const move =
    capability ??
    defineCapability(
      { id: 'test.move', version: '1.0.0', description: 'Moves.', policy: {}, effects: ['stock.move'], ...spec },
      async () => {
        entered()
        await gate
        if (!knows) throw new CallEnded('cut_off', 'nobody knows', { effect: 'unknown' })
        return ++runs
      },
    )
  const given = await givenHost({ capabilities: [move] }, { clock })
  let met = 0
  let failing: { readonly type: string; readonly answer: Answer; readonly id: string | undefined } | undefined
  const store: Store = {
    ...given.ambit.store,
    commit: async (of, commit) => {
      const fails = commit.events.some(
        ({ event_type, invocation_id }) =>
          event_type === failing?.type && invocation_id === (failing.id ?? invocation_id),
      )
      const { answer } = failing ?? {}
      if (fails) met++
      if (fails && answer === 'busy') throw new Failure('store.busy', 'another process is writing')
      if (fails && (answer === 'failed' || answer === 'unknown'))
        throw new Failure('store.unavailable', 'away', { outcome: answer === 'failed' ? 'none' : answer })
      if (fails && typeof answer === 'object' && 'unknownAfter' in answer) {
        await answer.unknownAfter
        throw new Failure('store.unavailable', 'away', { outcome: 'unknown' })
      }
      const done = await given.ambit.store.commit(of, commit)
      if (fails && answer === 'lost') throw new Failure('store.unavailable', 'away', { outcome: 'unknown' })
      if (fails) await answer
      return done
    },
  }
  const second = await openHost({ ...given.ambit, store }, given.host.tenant, (hostId) =>
    makeOffer(hostId, { capabilities: [move], budgets }),
  )
  return {
    ...given,
    clock,
    second,
    capability: move,
    runs: () => runs,
    /** Makes a commit with such an event fail; or makes its answer get lost, or come later. */
    failOn: (type: string | undefined, answer: Answer = 'failed', id?: string) => {
      failing = type === undefined ? undefined : { type, answer, id }
    },
    /** How many commits it has happened to. */
    met: () => met,
    /** Leaves a call behind of which nobody knows what it did, and whose end is not written. */
    leaveOpen: async (id = 'inv-1') => {
      knows = false
      failing = { type: 'execution_indeterminate', answer: 'failed', id }
      await second.gateway.invoke(anyone, { ...envelope, invocation_id: id })
      failing = undefined
      knows = true
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
