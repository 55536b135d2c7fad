import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { escapedKey } from '../../base/pointer.ts'
import { compileCondition, compileExpression } from '../../policy/conditions/condition.ts'
import { type Facts, Fault, undecided } from '../../policy/conditions/values.ts'

/** Why a member has no value yet, or never will. */
export interface ExpressionProblem {
  readonly step: string
  /** JSON Pointer within the parameters. */
  readonly member: string
  /** `undecided` where a fact is absent, `faulty` where the expression cannot be evaluated. */
  readonly kind: 'undecided' | 'faulty'
  readonly message: string
}

export interface Resolved {
  /** The members that have a value. */
  readonly params: JsonObject
  readonly problems: readonly ExpressionProblem[]
}

const roots = ['request', 'run', 'steps']

/** Parameters with each `{"$expr": …}` in place of what it comes to. A member without a value is left out, never guessed. */
export function resolveParams(params: JsonObject, facts: Facts, step = ''): Resolved {
  const problems: ExpressionProblem[] = []
  const resolved = Object.entries(params).flatMap(([name, given = null]) => {
    const found: ExpressionProblem[] = []
    const value = resolve(given, `/${escapedKey(name)}`, { facts, step, problems: found })
    problems.push(...found)
    return found.length === 0 ? [[name, value] as const] : []
  })
  return { params: Object.fromEntries(resolved), problems }
}

interface Resolving {
  readonly facts: Facts
  readonly step: string
  readonly problems: ExpressionProblem[]
}

function resolve(value: Json, member: string, by: Resolving): Json {
  if (Array.isArray(value)) return value.map((each: Json, index) => resolve(each, `${member}/${index}`, by))
  if (!isJsonObject(value)) return value
  if (Object.hasOwn(value, '$expr')) return evaluate(value, member, by)
  const members = Object.entries(value)
  return Object.fromEntries(
    members.map(([key, each = null]) => [key, resolve(each, `${member}/${escapedKey(key)}`, by)]),
  )
}

function evaluate(expression: JsonObject, member: string, { facts, step, problems }: Resolving): Json {
  const isAlone = Object.keys(expression).length === 1
  const value = isAlone ? expressionValue(expression['$expr'] ?? null, facts) : new Fault('an expression stands alone')
  if (value === undecided)
    problems.push({ step, member, kind: 'undecided', message: 'a fact that it reads is not there' })
  else if (value instanceof Fault) problems.push({ step, member, kind: 'faulty', message: value.message })
  else return value
  return null
}

/** What an expression over request, run and steps comes to. One that does not compile is a fault too. */
export function expressionValue(json: Json, facts: Facts): Json | typeof undecided | Fault {
  try {
    return compileExpression(json, { roots })(facts)
  } catch (error) {
    return faultOf(error)
  }
}

/** Whether a condition over all roots of rules holds: true, false, undecided or a fault. */
export function verdictOf(when: Json, facts: Facts): boolean | typeof undecided | Fault {
  try {
    return compileCondition(when).evaluate(facts)
  } catch (error) {
    return faultOf(error)
  }
}

function faultOf(error: unknown): Fault {
  if (error instanceof Failure) return new Fault(error.message)
  throw error
}
