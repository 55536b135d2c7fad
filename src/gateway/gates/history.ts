import { type History, noHistory, rememberedOf, withCall } from '../../policy/history.ts'
import { amendHistory, historyOf } from '../../storage/tables/histories.ts'
import type { Resolved } from '../attempt.ts'
import { type Call, type CallCaller, callKey } from '../call.ts'
import type { GatewayDeps, Offer } from '../deps.ts'
import { FactsChanged } from '../events.ts'
import type { Recorded } from '../results.ts'

type Called = Pick<Call, 'caller' | 'correlation'>

/** The history of a call: the one the door names, else that of the principal or, if so configured, the correlation. */
export function historyKey({ history }: Pick<Offer, 'history'>, { caller, correlation }: Called): string {
  if (caller.history !== undefined) return callKey('door', principalOf(caller), caller.history)
  return history === 'correlation'
    ? callKey('correlation', correlation.correlation_id)
    : callKey('principal', principalOf(caller))
}

/** All anonymous callers are one principal. */
export const principalOf = ({ subject, name }: CallCaller): string => (subject === null ? 'anonymous' : name)

export async function recall({ deps: { store, tenant, clock }, offer, call }: Resolved): Promise<History> {
  return parseHistory(await store.read(() => historyOf(tenant, historyKey(offer, call), clock.now())))
}

const parseHistory = (body: string | undefined): History =>
  body === undefined ? noHistory : (JSON.parse(body) as History)

/**
 * The call enters the history with its intent. If others have started since the rules were asked, they are asked again
 * in that transaction: only the same answer lets this call start.
 */
export function remember({ deps, offer, call, capability, holds, starting }: Resolved): void {
  const next = (history: History): History => {
    if (holds !== undefined && !holds(history)) throw new FactsChanged()
    return withCall(history, rememberedOf(capability.descriptor))
  }
  starting.push(...changeHistory(deps, offer, call, next))
}

/** A recorded result that is given again enters the history of its reader, with what was recorded of it then. */
export async function rememberAgain(deps: GatewayDeps, call: Called, { carries }: Recorded): Promise<void> {
  if (carries === undefined) return
  const again = (history: History): History => ({ ...withCall(history, carries), calls: history.calls })
  for (const change of changeHistory(deps, deps.offer(), call, again)) await deps.store.write(deps.tenant, change)
}

/** The change of a history; none where none are kept. */
function changeHistory({ clock }: GatewayDeps, offer: Offer, call: Called, next: (history: History) => History) {
  if (offer.historyMs === undefined) return []
  const nowMs = clock.now()
  const expiresAtMs = nowMs + offer.historyMs
  const key = historyKey(offer, call)
  return [amendHistory({ key, nowMs, expiresAtMs, next: (body) => JSON.stringify(next(parseHistory(body))) })]
}
