import { micro, microText } from '../base/amount.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits as sizes } from '../base/limits.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import { type Amounts, type Budget, type BudgetShare, type Measure, measures } from '../model/config/budget.ts'
import { inScopes } from '../model/text.ts'

export interface CompiledBudget {
  readonly name: string
  /** Each once, in one order. */
  readonly per: readonly BudgetShare[]
  readonly every: Budget['every']
  readonly limits: Amounts
}

export function compileBudgets(
  budgets: readonly Budget[],
  capabilities: readonly CapabilityDescriptor[],
): ReadonlyMap<string, readonly CompiledBudget[]> {
  const found = new Map<string, CompiledBudget[]>()
  for (const [index, budget] of budgets.entries()) {
    if (budgets.findIndex(({ name }) => name === budget.name) < index)
      throw invalid(index, `there are two budgets ${quote(budget.name)}`)
    const compiled = compileBudget(budget)
    if (Object.keys(compiled.limits).length === 0)
      throw invalid(index, `budget ${quote(budget.name)} limits nothing`, `give it one of ${measures.join(', ')}`)
    const reached = capabilities.filter(({ id }) => inScopes(budget.applies_to, id))
    for (const descriptor of reached) checkRoom(index, compiled, descriptor)
    for (const id of new Set(reached.map((each) => each.id))) found.set(id, [...(found.get(id) ?? []), compiled])
  }
  return found
}

const shares: readonly BudgetShare[] = ['tenant', 'principal', 'history', 'capability']

const compileBudget = ({ name, per, every, cost, ...whole }: Budget): CompiledBudget => ({
  name,
  per: shares.filter((share) => [per].flat().includes(share)),
  every,
  limits: Object.fromEntries(
    measures.flatMap((measure) => {
      const limit = measure === 'cost' ? cost && micro(cost, 'down') : whole[measure]
      return limit === undefined ? [] : [[measure, limit]]
    }),
  ),
})

function checkRoom(index: number, { name, limits }: CompiledBudget, descriptor: CapabilityDescriptor): void {
  const worst = worstCase(descriptor)
  const measure = lackingIn(worst, limits, {})
  if (measure === undefined) return
  const [most, limit] = [worst[measure], limits[measure] ?? 0].map((amount) => amountOf(measure, amount))
  const message = `budget ${quote(name)} of ${limit} ${words[measure]} has no room for one call of ${quote(descriptor.id)}, which may take ${most}`
  throw invalid(index, message, `raise the limit, or declare less: ${remedies[measure]}`)
}

const remedies: Readonly<Record<Measure, string>> = {
  calls: '`calls` is at least 1',
  time_ms: '`timeoutS` of the capability, or `timeout_s` in the file of an upstream',
  cost: '`worstCase.cost` of the capability, or `metadata.worst_case.cost` in the file of an upstream',
  bytes: '`worstCase.bytes` of the capability, or `metadata.worst_case.bytes` in the file of an upstream',
}

const invalid = (index: number, message: string, help?: string): Failure => {
  const pointer = `/host/budgets/${index}`
  return new Failure('field.invalid', `configuration: ${quote(pointer)}: ${message}`, { pointer }, help)
}

/** The first measure of which there is less left than wanted. */
export const lackingIn = (wanted: Amounts, limits: Amounts, used: Amounts): Measure | undefined =>
  measures.find((measure) => {
    const limit = limits[measure]
    return limit !== undefined && (used[measure] ?? 0) + (wanted[measure] ?? 0) > limit
  })

/** An amount as people and evidence read it: cost as decimal text, all else as a whole number. */
export const amountOf = (measure: Measure, amount: number): number | string =>
  measure === 'cost' ? microText(amount) : amount

export const words: Readonly<Record<Measure, string>> = {
  calls: 'calls',
  time_ms: 'ms',
  cost: 'units',
  bytes: 'bytes',
}

/** The while that this instant lies in: an hour, day or month of UTC, or a run of so many seconds since the epoch. */
export function windowOf(every: Budget['every'], now: number): { startsAtMs: number; endsAtMs: number } {
  if (every === 'month') {
    const at = new Date(now)
    const month = (more: number): number => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + more, 1)
    return { startsAtMs: month(0), endsAtMs: month(1) }
  }
  const ms = every === 'hour' ? 3_600_000 : every === 'day' ? 86_400_000 : every * 1_000
  const startsAtMs = Math.floor(now / ms) * ms
  return { startsAtMs, endsAtMs: startsAtMs + ms }
}

/** The most that one call may take, by what its capability declares: that is reserved before it starts. */
export const worstCase = (descriptor: CapabilityDescriptor): Readonly<Record<Measure, number>> => {
  const { worst_case = {}, autonomy } = descriptor.metadata ?? {}
  return {
    calls: 1,
    time_ms: timeoutMsOf(descriptor),
    cost: micro(worst_case.cost ?? autonomy?.spend_units ?? 0, 'up'),
    bytes: worst_case.bytes ?? sizes.eventBytesMax,
  }
}

export const timeoutMsOf = ({ timeout_s = sizes.callTimeoutMs / 1000 }: CapabilityDescriptor): number =>
  // 2.007 seconds are 2,007 milliseconds, though their product is a little more.
  Math.ceil(Math.min(Number((timeout_s * 1000).toPrecision(12)), sizes.callTimeoutMaxMs))
