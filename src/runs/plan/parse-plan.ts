import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { type Plan, plan } from '../../model/contract/plan.ts'
import { problemsOf } from '../../model/parse.ts'
import { resolveParams } from './expressions.ts'

export type ParsedPlan = { readonly plan: Plan } | { readonly problems: readonly string[] }

/** A plan that a model or a script made, as text or as data. Its problems are text that it can be asked to mend. */
export function parsePlan(value: unknown): ParsedPlan {
  try {
    const read = typeof value === 'string' ? readJson(value) : value
    const wrong = problemsOf(plan, read).map(({ pointer, message }) => `${quote(pointer)} ${message}`)
    if (wrong.length > 0) return { problems: wrong }
    const parsed = plan.parse(read)
    const problems = planProblems(parsed)
    return problems.length > 0 ? { problems } : { plan: parsed }
  } catch (error) {
    if (error instanceof Failure) return { problems: [error.message] }
    throw error
  }
}

/** What the shape of a plan cannot say: ids, order and expressions. */
export function planProblems(made: Plan): readonly string[] {
  const ids = made.steps.map(({ id }) => id)
  const known = new Set(ids)
  const strange = (what: string, id: string): string[] => (known.has(id) ? [] : [`${what} ${quote(id)} is no step`])
  return [
    ...ids.flatMap((id, index) => (ids.indexOf(id) < index ? [`two steps have the id ${quote(id)}`] : [])),
    ...made.steps.flatMap(({ id, depends_on = [] }) =>
      depends_on.flatMap((each) => strange(`step ${quote(id)} depends on what`, each)),
    ),
    ...made.decision_checkpoints.flatMap(({ after_step }) => strange('a decision comes after what', after_step)),
    ...(inOrder(made.steps) === undefined ? ['the steps depend on each other in a circle'] : []),
    ...made.steps.flatMap(({ id, params }) =>
      resolveParams(params, {}, id).problems.flatMap(({ kind, member, message }) =>
        kind === 'faulty' ? [`step ${quote(id)}: ${quote(member)} ${message}`] : [],
      ),
    ),
  ]
}

/** Steps with what each depends on before it, else as they are listed; undefined for a circle. */
export function inOrder<T extends { readonly id: string; readonly depends_on?: readonly string[] | undefined }>(
  steps: readonly T[],
): readonly T[] | undefined {
  const ids = new Set(steps.map(({ id }) => id))
  const left = [...steps]
  const placed = new Set<string>()
  const ordered: T[] = []
  while (left.length > 0) {
    const index = left.findIndex(({ depends_on = [] }) => depends_on.every((id) => placed.has(id) || !ids.has(id)))
    const [next] = index < 0 ? [] : left.splice(index, 1)
    if (next === undefined) return undefined
    ordered.push(next)
    placed.add(next.id)
  }
  return ordered
}
