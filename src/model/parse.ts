import type { z } from 'zod'
import { Failure, quote } from '../base/failure.ts'
import type { FailureCode } from '../base/failure-codes.ts'
import { nearest } from '../base/nearest.ts'
import { pointerOf } from '../base/pointer.ts'
import { boundText, typesText, valuesText } from '../base/words.ts'

/** What is wrong at one place of a value: a JSON Pointer and a message, both without the value itself. */
export interface ParseProblem {
  readonly code: Extract<FailureCode, `field.${string}`>
  readonly pointer: string
  readonly message: string
}

/** The value as this shape; otherwise the first problem, with `what` in the message as the name of the whole. */
export function parseAs<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const read = tryParse(schema, value)
  if (read.ok) return read.value
  const { code, pointer, message, help } = read.problem
  throw new Failure(code, `${pointer === '' ? what : `${what}: ${quote(pointer)}`} ${message}`, { pointer }, help)
}

type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: ParseProblem & { readonly help: string | undefined } }

/** The value as this shape, or the first problem and what was likely meant. */
export function tryParse<S extends z.ZodType>(schema: S, value: unknown): Parsed<z.output<S>> {
  const result = schema.safeParse(value, { error: expectation })
  if (result.success) return { ok: true, value: result.data }
  const [first] = locatedIn(result.error, value)
  if (first === undefined)
    return { ok: false, problem: { code: 'field.invalid', pointer: '', message: 'is not valid', help: undefined } }
  const meant = meantBy(first)
  return { ok: false, problem: { ...problemAt(first, value), help: meant && `did you mean ${quote(meant)}?` } }
}

/** Every problem of a value, in the order of the document; a missing member comes after those its object has. */
export function problemsOf(schema: z.ZodType, value: unknown): ParseProblem[] {
  const result = schema.safeParse(value, { error: expectation })
  return result.success ? [] : locatedIn(result.error, value).map((found) => problemAt(found, value))
}

type Path = readonly PropertyKey[]
type Issue = z.core.$ZodIssue

const locatedIn = (error: z.core.$ZodError, value: unknown): Located[] =>
  sorted(
    error.issues.flatMap((issue) => located(issue, [])),
    value,
    0,
  )

interface Located {
  readonly path: Path
  readonly issue: Issue
}

/** One entry per offending member; of a union, the entries of the one alternative that was evidently meant. */
function located(issue: Issue, above: Path): Located[] {
  const path = [...above, ...issue.path]
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ path: [...path, key], issue }))
  if (issue.code !== 'invalid_union') return [{ path, issue }]
  const meant = issue.errors
    .filter((issues) => issues.every(isInside))
    .map((issues) => issues.flatMap((inner) => located(inner, path)))
    .toSorted((a, b) => a.length - b.length)
  const [closest, next] = meant
  // Of several objects that could be meant, the one that the value comes nearest to.
  return closest !== undefined && closest.length !== next?.length ? closest : [{ path, issue }]
}

const isInside = (issue: Issue): boolean => issue.path.length > 0 || issue.code === 'unrecognized_keys'

function problemAt({ path, issue }: Located, value: unknown): ParseProblem {
  const pointer = pointerOf(path)
  if (issue.code === 'unrecognized_keys') return { code: 'field.unknown', pointer, message: 'is not a known member' }
  if (isMissing(path, value)) return { code: 'field.missing', pointer, message: 'is missing' }
  return { code: 'field.invalid', pointer, message: wordsOf(issue) }
}

/** What an issue says; of a union, what each of its alternatives would take, if that can be said in a few words. */
function wordsOf(issue: Issue): string {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue.message
  const demands = issue.errors.map(([first]) => (first && first.path.length === 0 ? wordsOf(first) : ''))
  if (!demands.every((demand) => demand.startsWith(must))) return issue.message
  return `${must}${[...new Set(demands)].map((demand) => demand.slice(must.length)).join(', or ')}`
}

const must = 'must be '

/** A member that is not known is most often one that is, misspelt or under its old name. */
function meantBy({ path, issue }: Located): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined
  const written = String(path.at(-1))
  const known = issue.message.split('\n')
  return nearest(written, known) ?? known.find((name) => name === renamed.get(written))
}

/** Old name → new name. */
const renamed: ReadonlyMap<string, string> = new Map([['session', 'history']])

function isMissing(path: Path, value: unknown): boolean {
  const parent = path.slice(0, -1).reduce<unknown>(childOf, value)
  const key = path.at(-1)
  return key !== undefined && typeof parent === 'object' && parent !== null && !Object.hasOwn(parent, key)
}

/** In the order of the document: what is said of an object, of each member it has, then of those that it lacks. */
function sorted(found: readonly Located[], value: unknown, level: number): Located[] {
  if (found.length < 2) return [...found]
  const [whole = [], inside = []] = [true, false].map((ends) =>
    found.filter(({ path }) => (path.length === level) === ends),
  )
  const byKey = Map.groupBy(inside, ({ path }) => String(path[level]))
  const present = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const keys = new Set([...present.filter((key) => byKey.has(key)), ...byKey.keys()])
  return [...whole, ...[...keys].flatMap((key) => sorted(byKey.get(key) ?? [], childOf(value, key), level + 1))]
}

const childOf = (value: unknown, key: PropertyKey): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<PropertyKey, unknown>>)[key]
    : undefined

const unfit = 'does not have the required form'

/** What was expected, from the schema alone. A text form brings its own words, which stand before these. */
const expectation: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typesText([issue.expected])}`
    case 'invalid_value':
      return `must be ${valuesText(issue.values)}`
    case 'too_small':
      return boundText(issue.origin, issue.inclusive === false ? 'greater than' : 'at least', issue.minimum)
    case 'too_big':
      return boundText(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'invalid_union':
      return Array.isArray(issue.options)
        ? `must be ${valuesText(issue.options)}`
        : 'fits none of the forms that are allowed'
    case 'invalid_format':
      return issue.pattern === undefined ? unfit : `must match the pattern ${quote(issue.pattern)}`
    case 'unrecognized_keys':
      // An issue keeps nothing else of its schema: these are the members that it knows.
      return knownTo(issue.inst).join('\n')
    case 'invalid_key':
      return 'is not an allowed member name'
    default:
      return unfit
  }
}

const knownTo = (inst: unknown): readonly string[] =>
  Object.keys((inst as Partial<z.core.$ZodObject> | undefined)?._zod?.def.shape ?? {})
