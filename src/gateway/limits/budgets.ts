import { Failure, quote } from '../../base/failure.ts'
import { formatTime } from '../../base/time.ts'
import type { Amounts, BudgetShare, Measure } from '../../model/config/budget.ts'
import { amountOf, type CompiledBudget, lackingIn, windowOf, words } from '../../policy/budgets.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { worstCase } from '../../policy/worst-case.ts'
import { type Reservation, reserve, settle, usesIn } from '../../storage/tables/budget-uses.ts'
import type { Change } from '../../storage/work.ts'
import type { Asked, Attempt, ToWrite } from '../attempt.ts'
import { callKey } from '../call.ts'
import type { GatewayDeps, Offer } from '../deps.ts'
import { historyKey, principalOf } from '../gates/history.ts'
import type { Registered } from '../registry.ts'

/** Gate 8, after the limits of the capability: the budgets of the host. */
export function hostBudgetGate(
  deps: GatewayDeps,
  offer: Offer,
  attempt: Attempt,
): Promise<Refusal | undefined> | undefined {
  const { call, capability } = attempt
  const budgets = offer.budgets.get(call.capabilityId)
  if (budgets === undefined || capability === undefined) return undefined
  return withRoom(deps, attempt, wishesOf(budgets, offer, attempt, capability, deps.clock.now()))
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
  const wishes = bounds.budgets.map(({ place, limits }) => ({
    gate: 'budget' as const,
    limits,
    reservation: { ...place, amounts: pickAmounts(worst, limits) },
  }))
  return wishes.length === 0 ? undefined : withRoom(deps, attempt, wishes)
}

/** A reservation that is wanted, the budget it is wanted of, and the gate that answers if there is no room. */
interface Wish {
  readonly gate: 'limits' | 'budget'
  readonly reservation: Reservation
  readonly limits: Amounts
}

/** Looked at here, so that this gate answers before those behind it; taken with the intent, so that it is exact. */
async function withRoom(
  { store, tenant }: GatewayDeps,
  attempt: ToWrite,
  wishes: readonly Wish[],
): Promise<Refusal | undefined> {
  const reservations = wishes.map(({ reservation }) => reservation)
  const used = await store.read(() => usesIn(tenant, reservations))
  for (const [index, wish] of wishes.entries()) {
    const found = new NoRoom(wish, used[index] ?? {})
    if (found.measure !== undefined) return noRoom(attempt, found)
  }
  attempt.reserved.push(...reservations)
  attempt.starting.push(...wishes.map(taking))
  return undefined
}

const wishesOf = (
  budgets: readonly CompiledBudget[],
  offer: Offer,
  attempt: Asked,
  { descriptor }: Registered,
  now: number,
): readonly Wish[] => {
  const worst = worstCase(descriptor)
  return budgets.map(({ name, per, every, limits }) => ({
    gate: 'limits',
    limits,
    reservation: {
      budget: name,
      holder: callKey(...per.flatMap((share) => [share, holderOf(share, offer, attempt)])),
      ...windowOf(every, now),
      amounts: pickAmounts(worst, limits),
    },
  }))
}

/** Of the worst case, what the budget limits. */
const pickAmounts = (worst: Amounts, limits: Amounts): Amounts =>
  Object.fromEntries(Object.keys(limits).map((measure) => [measure, worst[measure as keyof Amounts]]))

function holderOf(share: BudgetShare, offer: Offer, { call }: Asked): string {
  if (share === 'principal') return principalOf(call.caller)
  if (share === 'history') return historyKey(offer, call)
  return share === 'capability' ? call.capabilityId : ''
}

/** A budget had no room left when it came to it. */
export class NoRoom extends Error {
  readonly wish: Wish
  readonly used: Amounts
  /** Of what there is too little. */
  readonly measure: Measure | undefined
  constructor(wish: Wish, used: Amounts) {
    super('no room')
    this.wish = wish
    this.used = used
    this.measure = lackingIn(wish.reservation.amounts, wish.limits, used)
  }
}

const taking = (wish: Wish): Change =>
  function* (tenant) {
    try {
      yield* reserve(wish.reservation, wish.limits)(tenant)
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'budget.exceeded')) throw error
      throw new NoRoom(wish, error.data['used'] as Amounts)
    }
  }

/** Why the call does not fit in what is left of a budget: what that is, and when it renews. */
export function noRoom(attempt: ToWrite, { wish, used, measure = 'calls' }: NoRoom): Refusal {
  const { budget, amounts, endsAtMs } = wish.reservation
  const amount = (of: Amounts): number | string => amountOf(measure, of[measure] ?? 0)
  const limit = amount(wish.limits)
  const left = amountOf(measure, Math.max(0, (wish.limits[measure] ?? 0) - (used[measure] ?? 0)))
  // A budget of a run ends with the run.
  const renewal = wish.gate === 'limits' ? { renews_at: formatTime(endsAtMs) } : undefined
  const payload = { budget, measure, limit, used: amount(used), left, ...renewal }
  attempt.events.push({ type: 'budget_exceeded', payload })
  const needs = measure === 'calls' ? '' : `, and the call may take ${amount(amounts)}`
  const renews = renewal ? `; it renews at ${renewal.renews_at}` : ''
  const message = `budget ${quote(budget)} has ${left} of ${limit} ${words[measure]} left${needs}${renews}`
  return refuse(wish.gate, 'budget_exceeded', { message, details: { ...payload, matched_rule: `budget/${budget}` } })
}

/** What a call has taken in the end. */
export const settlements = ({ reserved, taken }: ToWrite, elapsedMs: number): readonly Change[] =>
  reserved.map((reservation) =>
    settle(reservation, {
      time_ms: Math.max(0, Math.round(elapsedMs)),
      bytes: taken.bytes,
      ...(taken.cost !== undefined && { cost: taken.cost }),
    }),
  )

/** What is given back of a call that was cut off: it answered nothing; how long it ran and what it spent nobody knows. */
export const unanswered = (reserved: readonly Reservation[] = []): readonly Change[] =>
  reserved.map((reservation) => settle(reservation, { bytes: 0 }))

/** The other way round: a call that was taken for cut off did answer, and what it answered is counted. */
export const answered = (reserved: readonly Reservation[]): readonly Change[] =>
  reserved.map((reservation) => {
    const { bytes } = reservation.amounts
    return settle({ ...reservation, amounts: bytes === undefined ? {} : { bytes: 0 } }, { bytes: bytes ?? 0 })
  })

/** What is given back of a call that was never carried out. */
export const unused = (reserved: readonly Reservation[] = []): readonly Change[] =>
  reserved.map((reservation) => settle(reservation, { time_ms: 0, cost: 0, bytes: 0 }))

/** What is given back once it is known that a call that was cut off had no effect. */
export const unspent = (reserved: readonly Reservation[] = []): readonly Change[] =>
  reserved.map((reservation) => settle(reservation, { cost: 0 }))
