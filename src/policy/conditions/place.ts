import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { escapedKey } from '../../base/pointer.ts'
import { compilePath, type Kind, type Read, type Value } from './values.ts'

/** A compiled expression; `gives` is the kind of its value where that is known before it runs. */
export interface Expression {
  readonly run: Read
  readonly gives: Kind | undefined
}

/** A fact that a condition holds against something, and what: where another value of it may matter. */
export interface Probe {
  readonly path: string
  /** `equal` to one value, `among` a list, itself a list that `holds` a value, or plain `truth`. */
  readonly asks: 'equal' | 'among' | 'holds' | 'truth'
  readonly against: (facts: Value) => Value
}

export interface Made {
  readonly reads: Set<string>
  readonly probes: Probe[]
  readonly roots: readonly string[] | undefined
  parts: number
  /** Whether it divides: then a value may come that it cannot be evaluated with. */
  divides: boolean
}

export interface Place {
  readonly made: Made
  readonly pointer: string
  readonly depth: number
  /** In the test of `some`, `all` and `none` paths begin at the item. */
  readonly inItem: boolean
  readonly compile: (json: Json, place: Place) => Expression
}

export interface Operands {
  readonly name: string
  readonly list: readonly Json[]
  readonly at: (index: number) => Place
}

export const below = (place: Place, step: string | number): Place => ({
  ...place,
  pointer: `${place.pointer}/${escapedKey(String(step))}`,
})

export const refusal = (place: Place, message: string, help?: string): Failure =>
  new Failure('policy.invalid', message, { pointer: place.pointer }, help)

/** An operand that must be of one of these kinds, as far as that is known before it runs. */
export function compileOperand({ name, list, at }: Operands, index: number, takes?: readonly Kind[]): Expression {
  const place = at(index)
  const expression = place.compile(list[index] ?? null, place)
  expectKind(`an operand of \`${name}\``, expression, takes, place)
  return expression
}

export function expectKind(
  what: string,
  { gives }: Expression,
  takes: readonly Kind[] | undefined,
  place: Place,
): void {
  if (gives === undefined || takes === undefined || takes.includes(gives)) return
  throw refusal(place, `${what} must be ${takes.map((kind) => words[kind]).join(' or ')}, not ${words[gives]}`)
}

const words: Readonly<Record<Kind, string>> = {
  boolean: 'true or false',
  number: 'a number',
  text: 'text',
  list: 'a list',
  object: 'an object',
}

/** The reader of a path that stands in the condition as it is: which facts are read is known from the text alone. */
export function compileRead(path: Json | undefined, place: Place): Read {
  const isItem = path === '' && place.inItem
  if (typeof path !== 'string' || !(isItem || pathForm.test(path)))
    throw refusal(place, 'a path is text such as `context.minutes`', 'write the path as it is: it cannot be computed')
  if (!place.inItem) {
    checkRoot(path.split('.', 1)[0] ?? '', place)
    place.made.reads.add(path)
  }
  return compilePath(path)
}

const pathForm = /^[^.]+(?:\.[^.]+)*$/u

function checkRoot(root: string, place: Place): void {
  const { roots } = place.made
  if (roots === undefined || roots.includes(root)) return
  throw refusal(place, `${quote(root)} is no fact that a rule reads`, `rules read ${roots.join(', ')}`)
}

/** Notes what a fact is held against, if the operand is nothing but a fact of the call. */
export function ask(operand: Json | undefined, place: Place, asks: Probe['asks'], against: Probe['against']): void {
  const path = factIn(operand)
  if (path !== undefined && !place.inItem) place.made.probes.push({ path, asks, against })
}

function factIn(json: Json | undefined): string | undefined {
  if (typeof json !== 'object' || json === null || !Object.hasOwn(json, 'var')) return undefined
  const { var: given } = json as { readonly var?: Json }
  const path: Json | undefined = Array.isArray(given) ? given[0] : given
  return typeof path === 'string' ? path : undefined
}
