import { Failure } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { isJsonObject } from '../../base/object.ts'
import type { Plan } from '../../model/contract/plan.ts'
import { type ParsedPlan, parsePlan } from './parse-plan.ts'

/** What a planner answered, as a plan of this run, or what is wrong with it. The id and intent are never the planner's. */
export function readProposal(answered: unknown, own: Pick<Plan, 'plan_id' | 'intent'>): ParsedPlan {
  try {
    const text = typeof answered === 'string' ? withoutMarks(answered) : JSON.stringify(answered)
    const value = readJson(text ?? 'null')
    if (!isJsonObject(value)) return { problems: ['the plan is no JSON object'] }
    const read = parsePlan({ ...value, ...own })
    return 'plan' in read ? read : { problems: read.problems.slice(0, limits.schemaProblemsMax) }
  } catch (error) {
    return { problems: [error instanceof Failure ? error.message : 'the plan cannot be written as JSON'] }
  }
}

/** Models put JSON between the marks of a code block, asked or not. */
function withoutMarks(text: string): string {
  const plain = text.trim()
  if (!plain.startsWith('```') || !plain.endsWith('```')) return plain
  return plain.slice(plain.indexOf('\n') + 1, -3)
}
