import type { Amounts, BudgetShare } from '../../model/config/budget.ts'
import { type CompiledBudget, windowOf, worstCase } from '../../policy/budgets.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { type Reservation, settle } from '../../storage/tables/budget-uses.ts'
import type { Change } from '../../storage/work.ts'
import type { Attempt, ToWrite } from '../attempt.ts'
import { type Call, callKey } from '../call.ts'
import type { GatewayDeps, Offer } from '../deps.ts'
import { historyKey, principalOf } from '../gates/history.ts'
import { checkLimits, type Limit } from './limits.ts'

/** Gate 8, after the limits of the capability: the budgets of the host. */
export function hostBudgetGate(
  deps: GatewayDeps,
  offer: Offer,
  attempt: Attempt,
): Promise<Refusal | undefined> | undefined {
  const { call, capability } = attempt
  const budgets = offer.budgets.get(call.capabilityId)
  if (budgets === undefined || capability === undefined) return undefined
  const worst = worstCase(capability.descriptor)
  const limitOf = ({ name, per, every, limits }: CompiledBudget): Limit => {
    const holder = callKey(...per.flatMap((share) => [share, holderOf(share, offer, call)]))
    const place = { budget: name, holder, ...windowOf(every, deps.clock.now()) }
    return { kind: 'budget', limits, reservation: { ...place, amounts: pickAmounts(worst, limits) } }
  }
  return checkLimits(deps, attempt, budgets.map(limitOf))
}

/** Gate 10b: the budgets and the deadline of the run. */
export function runBudgetGate(
  deps: GatewayDeps,
  _: Offer,
  attempt: Attempt,
): Promise<Refusal | undefined> | Refusal | undefined {
  const { call, capability } = attempt
  const bounds = call.run?.bounds
  if (bounds === undefined || capability === undefined) return undefined
  if (deps.clock.now() >= bounds.deadlineMs)
    return refuse('budget', 'budget_exceeded', {
      message: 'the time of the run is over',
      details: { limit: 'deadline' },
    })
  const worst = worstCase(capability.descriptor)
  const wanted = bounds.budgets.map(({ place, limits }) => ({
    kind: 'run' as const,
    limits,
    reservation: { ...place, amounts: pickAmounts(worst, limits) },
  }))
  return wanted.length === 0 ? undefined : checkLimits(deps, attempt, wanted)
}

/** Of the worst case, what the budget limits. */
const pickAmounts = (worst: Amounts, limits: Amounts): Amounts =>
  Object.fromEntries(Object.keys(limits).map((measure) => [measure, worst[measure as keyof Amounts]]))

function holderOf(share: BudgetShare, offer: Offer, call: Call): string {
  if (share === 'principal') return principalOf(call.caller)
  if (share === 'history') return historyKey(offer, call)
  return share === 'capability' ? call.capabilityId : ''
}

/** Puts what was taken in the place of what was reserved; what is left out stays as it was reserved. */
export const settleAll = (reserved: readonly Reservation[] = [], taken: Amounts): readonly Change[] =>
  reserved.map((reservation) => settle(reservation, taken))

/** A call that was cut off answered nothing; how long it ran and what it spent is not known. */
export const unanswered: Amounts = { bytes: 0 }
/** A call that was cut off turned out to have had no effect. */
export const unspent: Amounts = { cost: 0 }
/** A call was never carried out. */
export const unused: Amounts = { time_ms: 0, cost: 0, bytes: 0 }

/** What a call has taken in the end. */
export const settleTaken = ({ reserved, taken }: ToWrite, elapsedMs: number): readonly Change[] =>
  settleAll(reserved, {
    time_ms: Math.max(0, Math.round(elapsedMs)),
    bytes: taken.bytes,
    ...(taken.cost !== undefined && { cost: taken.cost }),
  })

/** Undoes `unanswered`: a call that was taken for cut off did answer, and its bytes are counted. */
export const settleAnswered = (reserved: readonly Reservation[]): readonly Change[] =>
  reserved.map((reservation) => {
    const { bytes } = reservation.amounts
    return settle({ ...reservation, amounts: bytes === undefined ? {} : { bytes: 0 } }, { bytes: bytes ?? 0 })
  })
