// Budgets, slowly: every call that ever started stands in a list, and a question is answered by adding up all of it.

import type { Budget } from '../../src/model/config/budget.ts'

export interface Taken {
  readonly at: number
  readonly who: string
  readonly capability: string
  /** Cost in millionths. */
  amounts: Record<'calls' | 'time_ms' | 'cost' | 'bytes', number>
}

const order = ['calls', 'time_ms', 'cost', 'bytes'] as const

/** The first budget that a call would go beyond, by what, and what of it is used; undefined if it fits in all. */
export function beyond(budgets: readonly Budget[], list: readonly Taken[], call: Taken) {
  for (const budget of budgets.filter((each) => isAbout(each, call)))
    for (const measure of order) {
      const limit = budget[measure]
      if (limit === undefined) continue
      const shared = list.filter((each) => isShared(budget, each, call))
      const used = shared.reduce((sum, { amounts }) => sum + amounts[measure], 0)
      const most = measure === 'cost' ? Math.round(Number(limit) * 1e6) : Number(limit)
      if (used + call.amounts[measure] > most) return { budget: budget.name, measure, used }
    }
  return undefined
}

function isShared(budget: Budget, a: Taken, b: Taken): boolean {
  const shares = [budget.per].flat()
  return (
    isAbout(budget, a) &&
    whileOf(budget.every, a.at) === whileOf(budget.every, b.at) &&
    (a.who === b.who || !(shares.includes('principal') || shares.includes('history'))) &&
    (a.capability === b.capability || !shares.includes('capability'))
  )
}

const isAbout = ({ applies_to }: Budget, { capability }: Taken): boolean =>
  applies_to.some((scope) => new RegExp(`^${scope.replaceAll('.', '\\.').replace('*', '.*')}$`).test(capability))

/** A name for the while of an instant, from its text where people would read it there. */
function whileOf(every: Budget['every'], at: number): string {
  const text = new Date(at).toISOString()
  if (every === 'month') return text.slice(0, 'YYYY-MM'.length)
  if (every === 'day') return text.slice(0, 'YYYY-MM-DD'.length)
  if (every === 'hour') return text.slice(0, 'YYYY-MM-DDTHH'.length)
  return String((at - (at % (every * 1000))) / 1000)
}
