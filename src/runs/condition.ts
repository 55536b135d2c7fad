import { canonical, type Json } from '../base/canonical.ts'
import { type Failure, quote } from '../base/failure.ts'
import { type JsonObject, memberOf } from '../base/object.ts'
import { invalidAt, type Place } from './place.ts'

/** What `||` joins, each of what `&&` joins. */
export type Condition = readonly (readonly Comparison[])[]

export type Path = readonly string[]

type Operand = { readonly path: Path } | { readonly literal: Json }

/** Without an operator the value is tested for truth. */
interface Comparison {
  readonly left: Operand
  readonly operator: string | undefined
  readonly right: Operand | undefined
}

/**
 * Reads a condition. A path stands in braces (`{{review.score}} >= 3`); in `{{#if}}`, where it cannot, the first operand
 * of each comparison is a path. Any other word is a literal.
 */
export const parseCondition = (source: string, at: Place, paths: 'braced' | 'bare' = 'braced'): Condition =>
  source.split('||').map((group) => group.split('&&').map((part) => parseComparison(part, at, paths)))

export const holds = (condition: Condition, data: JsonObject): boolean =>
  condition.some((group) => group.every((comparison) => compare(comparison, data)))

export function parsePath(text: string, at: Place): Path {
  if (!pathForm.test(text)) throw syntax(at, `a path such as \`order.total\` was expected at ${quote(text)}`)
  return text.split('.')
}

/** The value at a path, through own members alone. */
export const lookUp = (path: Path, data: JsonObject): Json | undefined => path.reduce<Json | undefined>(memberOf, data)

export const syntax = (at: Place, message: string): Failure => invalidAt(at, message, undefined, 'template.invalid')

const pathForm = /^[\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*$/u
const comparisonForm = /^\s*(\{\{[^{}]*\}\}|[^\s{}&|=!<>]+)\s*(?:([=!<>]=|[<>])\s*(\{\{[^{}]*\}\}|[^\s{}&|=!<>]+)\s*)?$/
const literalForm = /^(?:null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

function parseComparison(source: string, at: Place, paths: 'braced' | 'bare'): Comparison {
  const [, left, operator, right] = comparisonForm.exec(source) ?? []
  if (left === undefined) throw syntax(at, `a value, or a comparison of two, was expected at ${quote(source)}`)
  return {
    left: paths === 'bare' ? { path: parsePath(left, at) } : parseOperand(left, at),
    operator,
    right: right === undefined ? undefined : parseOperand(right, at),
  }
}

function parseOperand(text: string, at: Place): Operand {
  if (text.startsWith('{')) return { path: parsePath(text.slice(2, -2).trim(), at) }
  return { literal: literalForm.test(text) ? (JSON.parse(text) as Json) : text }
}

/** Values of different types are never equal, and only numbers have an order. */
function compare({ left, operator, right }: Comparison, data: JsonObject): boolean {
  const [a, b] = [read(left, data), right === undefined ? null : read(right, data)]
  if (operator === undefined) return a !== null && a !== false && a !== 0 && a !== ''
  if (operator === '==' || operator === '!=') return isEqual(a, b) === (operator === '==')
  if (typeof a !== 'number' || typeof b !== 'number') return false
  return operator.startsWith('<') ? a < b || (operator === '<=' && a === b) : a > b || (operator === '>=' && a === b)
}

/** What is missing is null. */
const read = (operand: Operand, data: JsonObject): Json =>
  ('path' in operand ? lookUp(operand.path, data) : operand.literal) ?? null

const isEqual = (a: Json, b: Json): boolean => a === b || (isNested(a) && isNested(b) && canonical(a) === canonical(b))

const isNested = (value: Json): boolean => typeof value === 'object' && value !== null
