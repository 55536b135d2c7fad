import assert from 'node:assert/strict'
import { Failure, quote } from '../../base/failure.ts'
import { type Amounts, measures } from '../../model/config/budget.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { budgetUses } from '../schema.ts'
import { type Change, number, type Row, row, sql, type Value, type Work } from '../work.ts'
import { dropOldest } from './records.ts'

/** What one holder may take of a budget in one window. */
export interface BudgetPlace {
  readonly budget: string
  readonly holder: string
  readonly startsAtMs: number
  readonly endsAtMs: number
}

/** The window of a limit that never renews. */
export const neverEnds = { startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER } as const

/** An amount of a budget, taken before it is known how much is needed. */
export interface Reservation extends BudgetPlace {
  readonly amounts: Amounts
}

/** Takes the amounts and returns what is used then; over a limit nothing is taken: `budget.exceeded`, with what is `used`. */
export const reserve = (wish: Reservation, limits: Amounts): Change<Amounts> =>
  function* (tenant) {
    const amounts = measures.map((measure) => wish.amounts[measure] ?? 0)
    const most = measures.map((measure) => limits[measure] ?? Number.MAX_SAFE_INTEGER)
    assert(amounts.every((amount) => Number.isSafeInteger(amount) && amount >= 0))
    // The condition of the statement applies only to a row that is there already.
    const fits = amounts.every((amount, index) => amount <= (most[index] ?? 0))
    const taken = fits ? yield* row(take, tenant, ...placeOf(wish), ...amounts, ...most) : undefined
    if (taken !== undefined) return amountsIn(taken)
    const [used = {}] = yield* usesIn(tenant, [wish])
    throw new Failure('budget.exceeded', `budget ${quote(wish.budget)} has no room for this`, { used })
  }

const place = 'tenant_id, budget, holder, starts_at_ms, ends_at_ms'
const atPlace = 'tenant_id = ? AND budget = ? AND holder = ? AND starts_at_ms = ? AND ends_at_ms = ?'
const added = measures.map((measure) => `${measure} = budget_uses.${measure} + excluded.${measure}`).join(', ')
const within = measures.map((measure) => `budget_uses.${measure} + excluded.${measure} <= ?`).join(' AND ')

const take = `INSERT INTO budget_uses (${place}, ${measures.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (${place}) DO UPDATE SET ${added} WHERE ${within}
  RETURNING ${measures.map((measure) => `budget_uses.${measure}`).join(', ')}`

const placeOf = (at: BudgetPlace): readonly Value[] => [at.budget, at.holder, at.startsAtMs, at.endsAtMs]

/** Puts what was really taken in the place of what was reserved; only what was reserved is counted. */
export const settle = (reservation: Reservation, actual: Amounts): Change<void> =>
  function* (tenant) {
    const more = measures.map((measure) => {
      const reserved = reservation.amounts[measure]
      return reserved === undefined ? 0 : (actual[measure] ?? reserved) - reserved
    })
    if (more.every((amount) => amount === 0)) return
    yield [sql(put, ...more, tenant, ...placeOf(reservation))]
  }

const put = `UPDATE budget_uses SET ${measures.map((measure) => `${measure} = ${measure} + ?`).join(', ')} WHERE ${atPlace}`

/** What is taken at these places, in their order. */
export function* usesIn(tenant: TenantId, places: readonly BudgetPlace[]): Work<readonly Amounts[]> {
  const select = `SELECT ${measures.join(', ')} FROM budget_uses WHERE ${atPlace}`
  const answers = yield places.map((each) => sql(select, tenant, ...placeOf(each)))
  return answers.map(([found]) => (found === undefined ? {} : amountsIn(found)))
}

const amountsIn = (found: Row): Amounts =>
  Object.fromEntries(measures.map((measure) => [measure, number(found, measure)]))

/** Drops at most `limit` places whose window ended a day ago, the oldest first, and returns how many. */
export const dropEndedBudgets = (nowMs: number, limit: number): Change<number> =>
  // A clock that goes back by less finds what was taken before.
  dropOldest(budgetUses, 'ends_at_ms', nowMs - keptMs, limit)

const keptMs = 86_400_000
