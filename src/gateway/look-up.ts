import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { refuse } from '../policy/gates/refusal.ts'
import { type Claim, findClaim } from '../storage/tables/claims.ts'
import { recordKey } from './approvals/request.ts'
import type { Call } from './call.ts'
import type { GatewayDeps } from './deps.ts'
import { callScope, type Standing } from './journal.ts'
import { type Recorded, readRecord, replayed, resultOf } from './results.ts'
import type { Driving } from './run.ts'
import { within } from './within.ts'

/** What is on record of a call: nothing, or a refusal that people may have lifted by now. */
export interface Found {
  readonly standing: Standing
  readonly recorded?: Recorded
}
export const unknownCall: Found = { standing: 'new' }

interface Running {
  readonly deps: GatewayDeps
  readonly running: ReadonlyMap<string, Promise<Recorded>>
  readonly closing: AbortSignal
}

/** Gate 0: what is on record under this caller's id. A call that runs is waited for. */
export async function lookUp(
  { deps, running, closing }: Running,
  call: Call,
  fingerprint: string,
  { signal, overtaken }: Pick<Driving, 'signal'> & { readonly overtaken: boolean },
): Promise<Recorded | Found> {
  const key = recordKey(call)
  let wasRunning = overtaken
  for (const end = deps.clock.now() + limits.callWaitMs; ; ) {
    const claim = await deps.store.read(() => findClaim(deps.tenant, callScope, key))
    if (claim === undefined || isExpired(claim, deps.clock.now())) return unknownCall
    if (claim.fingerprint !== fingerprint) return { result: reused(deps, call) }
    if (claim.result !== null) {
      const recorded = readRecord(claim.result)
      // An attempt that this call waited for ended without effect: its failure answers those who asked meanwhile.
      const answers = claim.state === 'settled' || (wasRunning && recorded.result.denial === null)
      return answers ? again(recorded) : { standing: 'waiting', recorded }
    }
    wasRunning = true
    const own = running.get(key)
    if (own !== undefined) return again(await within(own, end - deps.clock.now(), inProgress))
    if (deps.clock.now() >= end || closing.aborted || signal?.aborted) inProgress()
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

const pollMs = 25

const isExpired = ({ state, expiresAtMs }: Claim, now: number): boolean =>
  state === 'settled' && expiresAtMs !== null && expiresAtMs <= now

const again = (recorded: Recorded): Recorded => ({ ...recorded, result: replayed(recorded.result) })

export const inProgress = (): never => {
  throw new Failure(
    'call.in_progress',
    'the call is still running',
    { retry_after_s: 1 },
    'ask again later with the same `invocation_id`',
  )
}

function reused({ clock }: GatewayDeps, call: Call): InvocationResult {
  const { denial } = refuse('repeat', 'policy_blocked', {
    message: 'this invocation_id was used for another call',
    details: { decision: 'deny', reason: 'invocation_id_reused' },
  })
  const completedAt = new Date(clock.now()).toISOString()
  return resultOf(
    { call, version: null },
    { outcome: 'denied', denial },
    { evidenceIds: [], startedAt: null, completedAt },
  )
}
