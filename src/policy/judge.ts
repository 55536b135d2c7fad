import { type Facts, Fault } from './conditions/values.ts'
import { conclude, type Holding, holdingOf, type Ruling } from './decide.ts'
import type { Applicable } from './policies.ts'

/** Stands among the facts in place of one that is not known, which is another thing than absent. */
export const unknown = (path: string, isThere = false): Fault =>
  new Fault(`the value of \`${path}\` is not known`, path, isThere)

/**
 * The ruling as far as facts are known, and the paths of those that are not and could make it another. `settle` has the
 * last word about a ruling.
 */
export function judge(
  applicable: Applicable,
  facts: Facts,
  settle: (ruling: Ruling) => Ruling = (ruling) => ruling,
): { readonly ruling: Ruling; readonly needs: readonly string[] } {
  const { rules } = applicable
  const judged = rules.map((rule) => ({ rule, verdict: rule.condition.evaluate(facts) }) as const)
  const found = judged.flatMap(({ rule, verdict }) => (needsOf(verdict) ? [] : (holdingOf(rule, verdict) ?? [])))
  const byRank = (a: Holding, b: Holding) => rules.indexOf(a.rule) - rules.indexOf(b.rule)
  const rulingWith = (...more: readonly Holding[]) => settle(conclude(applicable, [...found, ...more].sort(byRank)))
  const ruling = rulingWith()
  // The strictest of several decides, so it is enough to ask what each open rule would do alone.
  // It may hold; or it divides, and the value that nobody knows was zero.
  const turnsIt = (holding: Holding) => rulingWith(holding).decision !== ruling.decision
  const turns = (rule: Holding['rule']) =>
    turnsIt({ rule, because: 'holds' }) || (rule.condition.divides && turnsIt({ rule, because: 'error' }))
  const needs = judged.flatMap(({ rule, verdict }) => (needsOf(verdict) && turns(rule) ? [needsOf(verdict) ?? ''] : []))
  return { ruling, needs: ruling.error ? [] : [...new Set(needs)].sort() }
}

/** The path of the fact that a rule could not do without. */
const needsOf = (verdict: unknown): string | undefined => (verdict instanceof Fault ? verdict.needs : undefined)
