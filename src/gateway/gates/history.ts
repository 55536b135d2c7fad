import { type History, noHistory, rememberedOf, withCall } from '../../policy/history.ts'
import { amendHistory, historyOf } from '../../storage/tables/histories.ts'
import type { Change } from '../../storage/work.ts'
import type { Attempt } from '../attempt.ts'
import type { Call } from '../call.ts'
import type { GatewayDeps, Offer } from '../deps.ts'
import type { Recorded } from '../results.ts'
import { sessionOf } from './session.ts'

type OfSession = Pick<Call, 'caller' | 'correlation'>

/** What the session of a call did before. */
export const recall = async ({ store, tenant, clock }: GatewayDeps, offer: Offer, call: Call): Promise<History> =>
  historyIn(await store.read(() => historyOf(tenant, sessionOf(offer, call), clock.now())))

const historyIn = (body: string | undefined): History =>
  body === undefined ? noHistory : (JSON.parse(body) as History)

/** What the rules were told of the session was no longer true when the call was about to start. */
export class HistoryChanged extends Error {}

/**
 * Prepares the call to be remembered with its intent: before its effect, so that no call that starts later can have
 * missed it. If others of the session have started since the rules were asked, they are asked again, there and then:
 * only the same answer lets this call start.
 */
export function remember(deps: GatewayDeps, offer: Offer, attempt: Attempt): undefined {
  const { call, capability, holds } = attempt
  if (capability === undefined) return
  attempt.starting.push(
    ...remembering(deps, offer, call, (history) => {
      if (holds !== undefined && !holds(history)) throw new HistoryChanged()
      return withCall(history, rememberedOf(capability.descriptor))
    }),
  )
}

/**
 * What is given again is read again: the session that asks for it knows of it, though it starts no call. A call that failed
 * may have given chunks before. What it carries was written down with it: by now its capability may say something else.
 */
export async function rememberAgain(deps: GatewayDeps, call: OfSession, { carries }: Recorded): Promise<void> {
  const offer = deps.offer()
  if (carries === undefined) return
  const again = (history: History): History => ({ ...withCall(history, carries), calls: history.calls })
  for (const change of remembering(deps, offer, call, again)) await deps.store.write(deps.tenant, change)
}

/** The change that makes another of a session's history; none where sessions are not remembered. */
function remembering(
  { clock }: GatewayDeps,
  offer: Offer,
  call: OfSession,
  next: (history: History) => History,
): readonly Change[] {
  if (offer.historyMs === undefined) return []
  const nowMs = clock.now()
  const expiresAtMs = nowMs + offer.historyMs
  const session = sessionOf(offer, call)
  return [amendHistory({ session, nowMs, expiresAtMs, next: (body) => JSON.stringify(next(historyIn(body))) })]
}
