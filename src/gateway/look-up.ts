import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { keyScope } from '../policy/gates/checks.ts'
import { deny } from '../policy/gates/refusal.ts'
import { type Claim, findClaim } from '../storage/tables/claims.ts'
import { type Call, type CallCaller, recordKey } from './call.ts'
import type { GatewayDeps } from './deps.ts'
import { rememberAgain } from './gates/history.ts'
import type { Host } from './invoke.ts'
import { callScope, type Entry, type Interrupted } from './journal.ts'
import { type Recorded, readRecord, replayed, resultOf } from './results.ts'
import { within } from './within.ts'

/** What is on record of a call: nothing, or a refusal that people may have lifted by now. */
export interface Found {
  readonly standing: Entry['standing']
  readonly recorded?: Recorded
}
export const unknownCall: Found = { standing: 'new' }

/** Gate 0: what is on record under this caller's id. A call that runs is waited for. */
export async function lookUp(
  { deps, running, closing }: Host,
  call: Call,
  fingerprint: string,
  { signal, overtaken }: { readonly signal: AbortSignal | undefined; readonly overtaken: boolean },
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

/** What is on record of the caller's own call, for a caller that asks for nothing but the result. */
export async function recordedResult(deps: GatewayDeps, caller: CallCaller, invocationId: string) {
  const key = recordKey({ caller, invocationId })
  const claim = await deps.store.read(() => findClaim(deps.tenant, callScope, key))
  if (claim === undefined) return undefined
  const found = claim.result === null ? undefined : readRecord(claim.result)
  const { capability_id: capabilityId } = found?.result ?? (JSON.parse(claim.body) as Interrupted)
  if (keyScope({ capabilityId, scopes: caller.scopes }) !== undefined) return undefined
  if (found === undefined) return inProgress()
  const { result } = found
  await rememberAgain(deps, { caller, correlation: result.correlation }, found)
  return result
}

const pollMs = 25

const isExpired = ({ state, expiresAtMs }: Claim, now: number): boolean =>
  state === 'settled' && expiresAtMs !== null && expiresAtMs <= now

const again = (recorded: Recorded): Recorded => ({ ...recorded, result: replayed(recorded.result) })

const inProgress = (): never => {
  const help = 'ask again later with the same `invocation_id`'
  throw new Failure('call.in_progress', 'the call is still running', { retry_after_s: 1 }, help)
}

function reused({ clock }: GatewayDeps, call: Call): InvocationResult {
  const reason = 'invocation_id_reused'
  const { denial } = deny('repeat', 'this invocation_id was used for another call', { reason })
  const completedAt = new Date(clock.now()).toISOString()
  const at = { evidenceIds: [], startedAt: null, completedAt }
  return resultOf({ call, version: null }, { outcome: 'denied', denial }, at)
}
