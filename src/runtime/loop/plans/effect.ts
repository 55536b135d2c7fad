import { setTimeout as pause } from 'node:timers/promises'
import { canonical, type Json } from '../../../base/canonical.ts'
import { sha256 } from '../../../base/hash.ts'
import { limits } from '../../../base/limits.ts'
import { callKey } from '../../../gateway/call.ts'
import type { CallProblem } from '../../../gateway/run.ts'
import type { InvocationResult } from '../../../model/wire/result.ts'
import type { ToolAnswer } from '../../../runs/answer.ts'
import { type Claim, findClaim, settleClaim, takeClaim } from '../../../storage/tables/claims.ts'
import type { Change, Work } from '../../../storage/work.ts'
import type { RunNode } from '../tree.ts'

/** One effect over all runs: its key, what it is done with, and for whom. */
interface EffectName {
  readonly key: string
  readonly capabilityId: string
  readonly callId: string
  readonly args: Json
  /** The first of the principal chain. */
  readonly originator: string
}

export type Effect = ReturnType<typeof openEffect>

const scope = 'effect'
const pollMs = 50

/**
 * The claim on the effect of a call. It is taken with the intent and settled with the outcome: the same key never takes
 * effect twice, whichever run asks. A call that certainly did nothing leaves it open, one of unknown outcome holds it.
 */
export function openEffect({ tree }: RunNode, { key, capabilityId, callId, args, originator }: EffectName) {
  const { store, tenant, clock } = tree.host.deps
  const name = { scope, key: callKey(capabilityId, key), owner: callId, body: JSON.stringify({ call_id: callId }) }
  const fingerprint = sha256(canonical([args, originator]))
  let settled: Claim | undefined
  let isTaken = false
  const isOver = (claim: Claim): boolean =>
    claim.state === 'settled' && claim.expiresAtMs !== null && claim.expiresAtMs <= clock.now()
  return {
    /** Gate 6b: why the call is not made. One whose effect is settled is answered with what it came to. */
    check: async (): Promise<CallProblem | undefined> => {
      const found = await store.read(() => findClaim(tenant, scope, name.key))
      settled = undefined
      if (found === undefined || isOver(found)) return undefined
      if (found.fingerprint !== fingerprint)
        return { code: 'idempotency_conflict', message: 'the key belongs to another effect, or to another originator' }
      if (found.state === 'running' && found.owner === callId) return undefined
      if (found.state === 'running') return { code: 'call_in_flight', message: 'a call with this key is under way' }
      if (found.state !== 'settled')
        return { code: 'outcome_unknown', message: 'what an earlier call with this key did is not known' }
      settled = found
      return { code: 'effect_settled', message: 'the effect took place before' }
    },
    take: function* (of): Work<void> {
      isTaken = true
      const found = yield* findClaim(of, scope, name.key)
      if (found?.state === 'running' && found.owner === callId) return
      yield* takeClaim({ ...name, fingerprint }, clock.now())(of)
    } satisfies Change<void> as Change<void>,
    /** How the claim ends with the call; nothing where the call was refused. */
    settle: (result: InvocationResult): readonly Change[] => {
      const { outcome, error } = result
      if (!isTaken || outcome === 'denied' || outcome === 'skipped') return []
      const text = JSON.stringify({ call_id: callId, output: result.data })
      if (outcome === 'success') return [settleClaim(name, text, clock.now() + limits.requiredResultMs)]
      const isUnknown = outcome === 'indeterminate' && error?.effect !== 'none'
      // Settled and over at once: the next call takes it anew.
      return [isUnknown ? settleClaim(name, text, null, 'unknown') : settleClaim(name, text, clock.now())]
    },
    /** The stored result of an effect that took place before, as the answer of this call. */
    answer: ({ outcome, denial }: InvocationResult): (ToolAnswer & { idempotent_of: string }) | undefined => {
      if (outcome !== 'skipped' || denial?.details?.['reason'] !== 'effect_settled') return undefined
      const { output, call_id } = JSON.parse(settled?.result ?? '{}') as { output: Json; call_id: string }
      return { status: 'completed', output, error: null, idempotent_of: call_id }
    },
    /** Waits while another call with the key is under way. */
    waitTurn: async (signal: AbortSignal): Promise<void> => {
      for (let waited = 0; waited < limits.callWaitMs; waited += pollMs) {
        const found = await store.read(() => findClaim(tenant, scope, name.key))
        if (found?.state !== 'running' || found.owner === callId) return
        await pause(pollMs, undefined, { signal })
      }
    },
  }
}
