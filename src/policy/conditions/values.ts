import type { Json } from '../../base/canonical.ts'

/** Data; undefined where a fact is absent or null; `undecided` where an absent fact leaves it open; or a fault. */
export type Value = Json | undefined | typeof undecided | Fault

export const undecided = Symbol('undecided')

/** Why there is no answer. Never thrown: it is handed up from operand to operator until the rule denies. */
export class Fault {
  readonly message: string
  /** The path of a fact whose value was not kept, if that is the reason. */
  readonly needs: string | undefined
  /** That fact is known to be there, if nothing else is. */
  readonly isThere: boolean

  constructor(message: string, needs?: string, isThere = false) {
    this.message = message
    this.needs = needs
    this.isThere = isThere
  }
}

/** What a rule reads: plain data by root, such as `context`. */
export type Facts = { readonly [root: string]: Json | undefined }

export type Kind = 'boolean' | 'number' | 'text' | 'list' | 'object'

export function kindOf(value: Json): Kind | undefined {
  if (Array.isArray(value)) return 'list'
  const type = typeof value
  if (type === 'string') return 'text'
  if (type === 'object') return value === null ? undefined : 'object'
  return type as 'boolean' | 'number'
}

export const isScalar = (value: unknown): value is boolean | number | string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

export const isOpen = (value: Value): value is undefined | typeof undecided =>
  value === undefined || value === undecided

/** JsonLogic's own: false, 0, empty text and an empty list are not true; nor is what is absent. */
export function isTruthy(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== undefined && value !== null && value !== false && value !== 0 && value !== ''
}

export type Read = (scope: Value) => Value

/** The reader of a dotted path: own members by name, entries of a list by number. The empty path is the whole. */
export function compilePath(path: string): Read {
  const steps = path === '' ? [] : path.split('.').map(stepOf)
  const [first, second] = steps
  if (first === undefined) return present
  if (second === undefined) return (scope) => present(part(scope, first))
  // Almost every path has two steps: without a loop it is read in half the time.
  if (steps.length === 2) return (scope) => present(part(part(scope, first), second))
  return (scope) => present(steps.reduce(part, scope))
}

const present = (value: Value): Value => (value === null ? undefined : value)

interface Step {
  readonly name: string
  /** The place in a list, if the name is one. */
  readonly index: number | undefined
}

const stepOf = (name: string): Step => ({
  name,
  index: /^(?:0|[1-9]\d{0,8})$/.test(name) ? Number(name) : undefined,
})

function part(value: Value, { name, index }: Step): Value {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return index === undefined ? undefined : (value[index] as Value)
  // That a fact is there says nothing of its parts.
  if (value instanceof Fault) return value.isThere ? new Fault(value.message, value.needs) : value
  return Object.hasOwn(value, name) ? (value as Readonly<Record<string, Value>>)[name] : undefined
}
