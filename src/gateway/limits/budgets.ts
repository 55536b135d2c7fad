import type { Amounts, BudgetShare } from '../../model/config/budget.ts'
import { windowOf, worstCase } from '../../policy/budgets.ts'
import { refuse } from '../../policy/gates/refusal.ts'
import { type BudgetPlace, type Reservation, settle } from '../../storage/tables/budget-uses.ts'
import type { Change } from '../../storage/work.ts'
import type { Attempt, GateAnswer, Resolved } from '../attempt.ts'
import { callKey } from '../call.ts'
import { historyKey, principalOf } from '../gates/history.ts'
import { checkLimits, type Limit } from './limits.ts'

/** Gate 8, after the limits of the capability: the budgets of the host. */
export function hostBudgetGate(attempt: Resolved): GateAnswer {
  const budgets = attempt.offer.budgets.get(attempt.call.capabilityId)
  if (budgets === undefined) return undefined
  const nowMs = attempt.deps.clock.now()
  const wanted = budgets.map(({ name, per, every, limits }) => {
    const holder = callKey(...per.flatMap((share) => [share, holderOf(share, attempt)]))
    return limitOf(attempt, 'budget', { budget: name, holder, ...windowOf(every, nowMs) }, limits)
  })
  return checkLimits(attempt, wanted)
}

/** Gate 10b: the budgets and the deadline of the run. */
export function runBudgetGate(attempt: Resolved): GateAnswer {
  const bounds = attempt.call.run?.bounds
  if (bounds === undefined) return undefined
  if (attempt.deps.clock.now() >= bounds.deadlineMs)
    return refuse('budget', 'budget_exceeded', 'the time of the run is over', { limit: 'deadline' })
  const wanted = bounds.budgets.map(({ place, limits }) => limitOf(attempt, 'run', place, limits))
  return wanted.length === 0 ? undefined : checkLimits(attempt, wanted)
}

/** The limit of a budget: of the worst case, what it limits is reserved. */
function limitOf({ capability }: Resolved, kind: 'budget' | 'run', place: BudgetPlace, limits: Amounts): Limit {
  const worst = worstCase(capability.descriptor)
  const measures = Object.keys(limits) as (keyof Amounts)[]
  const amounts = Object.fromEntries(measures.map((measure) => [measure, worst[measure]]))
  return { kind, limits, reservation: { ...place, amounts } }
}

function holderOf(share: BudgetShare, { offer, call }: Attempt): string {
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

export const settleTaken = ({ reserved, taken }: Attempt, elapsedMs: number): readonly Change[] =>
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
