import { micro } from '../../base/amount.ts'
import { Failure, quote } from '../../base/failure.ts'
import { formatTime } from '../../base/time.ts'
import type { Amounts } from '../../model/config/budget.ts'
import { amountOf, lackingIn, words } from '../../policy/budgets.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { neverEnds, type Reservation, reserve, usesIn } from '../../storage/tables/budget-uses.ts'
import type { Change } from '../../storage/work.ts'
import type { Attempt, GateAnswer, Resolved } from '../attempt.ts'
import { callKey } from '../call.ts'

/** A limit that a call must fit in. What is taken of budgets is settled with the outcome; uses are counted for good. */
export interface Limit {
  readonly kind: 'mandate' | 'actions' | 'spend' | 'budget' | 'run'
  readonly reservation: Reservation
  readonly limits: Amounts
}

/** A limit had no room left when the intent was written. */
export class LimitExceeded extends Error {
  readonly limit: Limit
  readonly used: Amounts
  constructor(limit: Limit, used: Amounts) {
    super(`no room in ${limit.kind}`)
    this.limit = limit
    this.used = used
  }
}

/** Checked here, so that this gate answers before those behind it; taken with the intent, so that it is exact. */
export async function checkLimits(attempt: Attempt, limits: readonly Limit[]): Promise<Refusal | undefined> {
  const { store, tenant } = attempt.deps
  const reservations = limits.map(({ reservation }) => reservation)
  const used = await store.read(() => usesIn(tenant, reservations))
  for (const [index, limit] of limits.entries()) {
    const found = used[index] ?? {}
    if (lackingIn(limit.reservation.amounts, limit.limits, found) !== undefined)
      return refuseLimit(attempt, new LimitExceeded(limit, found))
  }
  for (const limit of limits) {
    attempt.starting.push(take(limit))
    if (limit.kind === 'budget' || limit.kind === 'run') attempt.reserved.push(limit.reservation)
  }
  return undefined
}

const take = (limit: Limit): Change =>
  function* (tenant) {
    try {
      yield* reserve(limit.reservation, limit.limits)(tenant)
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'budget.exceeded')) throw error
      throw new LimitExceeded(limit, error.data['used'] as Amounts)
    }
  }

/** A limit on the number of calls that never renews. */
export const limitUses = (kind: 'mandate' | 'actions', holder: string, max: number): Limit => ({
  kind,
  reservation: { budget: kind, holder, ...neverEnds, amounts: { calls: 1 } },
  limits: { calls: max },
})

/** Gate 8: how often, and for how much, a capability may be called within one correlation. */
export function limitsGate(attempt: Resolved): GateAnswer {
  const limits = limitsOf(attempt)
  return limits.length === 0 ? undefined : checkLimits(attempt, limits)
}

/** Where the limits of one correlation are counted: the budgets, and how their holders begin. */
export const correlationUses = (correlationId: string) => ({
  budgets: ['actions', 'spend', 'run'],
  beginning: callKey(correlationId),
})

function limitsOf({ call, capability }: Resolved): readonly Limit[] {
  const { action_limit, spend_limit, spend_units = 0 } = capability.descriptor.metadata?.autonomy ?? {}
  const holder = callKey(call.correlation.correlation_id, call.capabilityId)
  const found: Limit[] = action_limit === undefined ? [] : [limitUses('actions', holder, action_limit)]
  if (spend_limit !== undefined) {
    const reservation = { budget: 'spend', holder, ...neverEnds, amounts: { cost: micro(spend_units, 'up') } }
    found.push({ kind: 'spend', reservation, limits: { cost: micro(spend_limit, 'down') } })
  }
  return found
}

/** The refusal of a call that does not fit, found before it or in the race for the last use. */
export function refuseLimit(attempt: Attempt, exceeded: LimitExceeded): Refusal {
  const { kind, limits } = exceeded.limit
  if (kind === 'budget' || kind === 'run') return refuseBudget(attempt, exceeded)
  const measure = kind === 'spend' ? 'cost' : 'calls'
  const [used, max] = [exceeded.used[measure] ?? 0, limits[measure] ?? 0]
  if (kind === 'mandate')
    return refuse('mandate', 'mandate_exhausted', 'the mandate is used up', { used, max_invocations: max })
  attempt.events.push({ type: 'budget_exceeded', payload: { limit: kind, used, max } })
  const message =
    kind === 'actions' ? 'the capability was called as often as it may be' : 'the capability has spent what it may'
  return refuse('limits', 'budget_exceeded', message, { limit: kind, used, max })
}

/** Says what is left of a budget, and when it renews; that of a run ends with the run. */
function refuseBudget(attempt: Attempt, { limit: { kind, reservation, limits }, used }: LimitExceeded): Refusal {
  const { budget, amounts, endsAtMs } = reservation
  const measure = lackingIn(amounts, limits, used) ?? 'calls'
  const amount = (of: Amounts): number | string => amountOf(measure, of[measure] ?? 0)
  const limit = amount(limits)
  const left = amountOf(measure, Math.max(0, (limits[measure] ?? 0) - (used[measure] ?? 0)))
  const renewal = kind === 'budget' ? { renews_at: formatTime(endsAtMs) } : undefined
  const payload = { budget, measure, limit, used: amount(used), left, ...renewal }
  attempt.events.push({ type: 'budget_exceeded', payload })
  const needs = measure === 'calls' ? '' : `, and the call may take ${amount(amounts)}`
  const renews = renewal ? `; it renews at ${renewal.renews_at}` : ''
  const message = `budget ${quote(budget)} has ${left} of ${limit} ${words[measure]} left${needs}${renews}`
  const details = { ...payload, matched_rule: `budget/${budget}` }
  return refuse(kind === 'budget' ? 'limits' : 'budget', 'budget_exceeded', message, details)
}
