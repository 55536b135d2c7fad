import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { forms } from './forms.ts'
import { operators } from './operators.ts'
import type { Expression, Made, Operands, Place, Probe } from './place.ts'
import { ask, below, expectKind, refusal } from './place.ts'
import { type Facts, Fault, isOpen, isScalar, kindOf, undecided } from './values.ts'

export type Verdict = boolean | typeof undecided | Fault

/** A rule's `when`, ready to run. It reads nothing but its argument, and never throws. */
export interface Condition {
  /** The paths of all facts it can read, sorted: known before it runs. */
  readonly reads: readonly string[]
  readonly probes: readonly Probe[]
  /** Whether a fact of the right kind can still make it fail: a division by zero. */
  readonly divides: boolean
  readonly evaluate: (facts: Facts) => Verdict
}

/**
 * Compiles a strict subset of JsonLogic: no coercion, own properties only, three-valued over absent facts. Anything
 * else is refused with `policy.invalid` and its place. Without `roots` it may name all facts.
 */
export function compileCondition(when: Json, within: Within = {}): Condition {
  const { made, top, expression } = begin(when, within)
  expectKind('a condition', expression, ['boolean'], top)
  ask(when, top, 'truth', () => undefined)
  const evaluate = (facts: Facts): Verdict => {
    const value = expression.run(facts)
    if (value === true || value === false) return value
    if (isOpen(value)) return undecided
    return value instanceof Fault ? value : noCondition
  }
  return { reads: [...made.reads].sort(), probes: made.probes, divides: made.divides, evaluate }
}

/** The same language for a value of any kind: what it comes to, or why nothing. */
export function compileExpression(json: Json, within: Within = {}): (facts: Facts) => Json | typeof undecided | Fault {
  const { expression } = begin(json, within)
  return (facts) => {
    const value = expression.run(facts)
    return value === undefined ? undecided : value
  }
}

interface Within {
  readonly pointer?: string
  readonly roots?: readonly string[]
}

function begin(json: Json, { pointer = '', roots }: Within) {
  const made: Made = { reads: new Set(), probes: [], roots, parts: 0, divides: false }
  const top: Place = { made, pointer, depth: 0, inItem: false, compile }
  return { made, top, expression: compile(json, top) }
}

const noCondition = new Fault('the condition is neither true nor false')

function compile(json: Json, place: Place): Expression {
  if (++place.made.parts > limits.conditionPartsMax)
    throw refusal(place, `the condition has more than ${limits.conditionPartsMax} parts`)
  if (place.depth > limits.conditionDepthMax)
    throw refusal(place, `the condition has more than ${limits.conditionDepthMax} levels`)
  if (isScalar(json) && !Number.isNaN(json)) return { run: () => json, gives: kindOf(json) }
  const [name, ...others] = isJsonObject(json) ? Object.keys(json) : []
  if (name === undefined || others.length > 0) {
    const help = 'write text, a number, true, false, or an object with one operator'
    throw refusal(place, 'this is no expression', help)
  }
  const given = (json as JsonObject)[name] ?? null
  const inner = { ...below(place, name), depth: place.depth + 1 }
  const at = (index: number): Place => (Array.isArray(given) ? below(inner, index) : inner)
  return compileOperation({ name, list: Array.isArray(given) ? given : [given], at }, inner)
}

function compileOperation(operands: Operands, place: Place): Expression {
  const { name, list } = operands
  const known = operations.get(name)
  if (known === undefined)
    throw refusal(place, `${quote(name)} is no operator`, `there are ${[...operations.keys()].join(' ')}`)
  const [least, most] = known.operands
  if (list.length < least || list.length > most)
    throw refusal(place, `\`${name}\` takes ${count(least, most)}, not ${list.length}`)
  if (name === '/' || name === '%') place.made.divides = true
  return known.compile(operands)
}

const operations = new Map(Object.entries({ ...forms, ...operators }))

function count(least: number, most: number): string {
  if (least === most) return `${least} ${least === 1 ? 'operand' : 'operands'}`
  return most === Number.POSITIVE_INFINITY ? `at least ${least} operands` : `${least} to ${most} operands`
}
