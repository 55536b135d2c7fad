import { micro } from '../../base/amount.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { countOf } from '../../storage/tables/counters.ts'
import type { Asked, Attempt, ToWrite, Use } from '../attempt.ts'
import { callKey } from '../call.ts'
import type { GatewayDeps, Offer } from '../deps.ts'
import { exhausted } from '../gates/mandate.ts'

/** Gate 8: how often, and for how much, a capability may be called within one correlation. */
export function limitsGate(deps: GatewayDeps, _: Offer, attempt: Attempt): Promise<Refusal | undefined> | undefined {
  const uses = usesOf(attempt)
  return uses.length === 0 ? undefined : withinLimits(deps, attempt, uses)
}

/** Looked at here, so that this gate answers before those behind it; counted with the intent, so that it is exact. */
async function withinLimits(deps: GatewayDeps, attempt: ToWrite, uses: readonly Use[]): Promise<Refusal | undefined> {
  for (const use of uses) {
    const used = await deps.store.read(() => countOf(deps.tenant, use.scope, use.key))
    if (used + use.amount > use.max) return overBudget(attempt, use, used)
    attempt.uses.push(use)
  }
  return undefined
}

/** How the keys of the counters of one correlation begin, and in which scopes they are. */
export const budgetKeysOf = (correlationId: string): string => callKey(correlationId)
export const budgetScopes = ['actions', 'spend'] as const

function usesOf({ call, capability }: Asked): readonly Use[] {
  const { action_limit, spend_limit, spend_units } = capability?.descriptor.metadata?.autonomy ?? {}
  if (action_limit === undefined && spend_limit === undefined) return []
  const key = `${budgetKeysOf(call.correlation.correlation_id)}${callKey(call.capabilityId)}`
  return [
    ...(action_limit === undefined ? [] : [{ scope: 'actions' as const, key, amount: 1, max: action_limit }]),
    ...(spend_limit === undefined
      ? []
      : [{ scope: 'spend' as const, key, amount: micro(spend_units ?? 0, 'up'), max: micro(spend_limit, 'down') }]),
  ]
}

/** A limit that was reached, found before the call or in the race for the last use. */
export function overBudget(attempt: ToWrite, { scope, max }: Use, used: number): Refusal {
  if (scope === 'mandate') return exhausted(used, max)
  attempt.events.push({ type: 'budget_exceeded', payload: { limit: scope, used, max } })
  const message =
    scope === 'actions' ? 'the capability was called as often as it may be' : 'the capability has spent what it may'
  return refuse('limits', 'budget_exceeded', { message, details: { limit: scope, used, max } })
}
