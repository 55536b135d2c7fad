import type { Json } from '../../base/canonical.ts'
import { isJsonObject, type JsonObject, membersOf } from '../../base/object.ts'
import { unescapedKey } from '../../base/pointer.ts'
import { Steps, StepsSpent } from '../../base/steps.ts'
import { allMarked, type Marks, nothingMarked } from './redact-values.ts'
import { type Resolve, resolverOf } from './schema-refs.ts'

/**
 * What a capability declares as sensitive: the `x-sensitive` places of its schema, further pointers of its context
 * contract, and everything from the classification `confidential` up. An unknown classification counts as one above.
 * Where it cannot be told whether something is marked, it is.
 */
export function marksOf(declared: {
  readonly schema: Json
  readonly pointers?: readonly string[]
  readonly classification?: string
  /** Members that are sensitive by the name under which the schema declares them. */
  readonly isNamed?: (name: string) => boolean
}): Marks {
  const { schema, pointers = [], classification = 'public', isNamed } = declared
  if (!openClasses.has(classification.toLowerCase())) return allMarked
  const mayMark = isNamed !== undefined || pointers.length > 0 || JSON.stringify(schema).includes('"x-sensitive":true')
  return mayMark ? schemaMarks(schema, pointers.map(markedAt), isNamed) : nothingMarked
}

const openClasses: ReadonlySet<string> = new Set(['public', 'internal'])

/** A schema that marks this place: `*` is any item or member, and a number may be that of an item. */
function markedAt(pointer: string): Json {
  const parts = pointer.split('/').slice(1)
  return parts.reduceRight<Json>(
    (inner, part) => {
      if (part === '*') return { additionalProperties: inner, items: inner }
      const name = unescapedKey(part)
      return { properties: { [name]: inner }, ...(/^\d+$/.test(name) && { items: inner }) }
    },
    { 'x-sensitive': true },
  )
}

/** The places of a schema, each made once, when a value first has it. Whatever may apply to a value counts. */
function schemaMarks(root: Json, more: readonly Json[], isNamed = (_: string): boolean => false): Marks {
  const steps = new Steps()
  steps.allow(stepsMax)
  const known = { isNamed, resolve: resolverOf(root), places: new Map(), ids: new Map(), steps }
  return placeOf(known, () => [root, ...more])
}

/** To make all places of a schema. Of one that has more the rest is hidden. */
const stepsMax = 250_000

interface Known {
  readonly isNamed: (name: string) => boolean
  readonly resolve: Resolve
  /** By the ids of the schemas that were found for them. */
  readonly places: Map<string, Marks>
  readonly ids: Map<JsonObject, number>
  readonly steps: Steps
}

/** The marks of a value to which all the schemas may apply that are found for it. */
function placeOf(known: Known, find: () => readonly (Json | undefined)[]): Marks {
  if (known.steps.left < 0) return allMarked
  try {
    const found = find()
    known.steps.spend(1 + found.length)
    const schemas = new Set(found.filter(isJsonObject))
    if (schemas.size === 0) return nothingMarked
    const key = Array.from(schemas, (schema) => idOf(schema, known)).join()
    const place = known.places.get(key) ?? makePlace(schemas, known)
    known.places.set(key, place)
    return place
  } catch (error) {
    if (error instanceof StepsSpent) return allMarked
    throw error
  }
}

function idOf(schema: JsonObject, { ids }: Known): number {
  const id = ids.get(schema) ?? ids.size
  ids.set(schema, id)
  return id
}

function makePlace(schemas: Set<JsonObject>, known: Known): Marks {
  if (!addSame(schemas, known)) return allMarked
  const parts = [...schemas]
  const declared = declaredIn(parts, known)
  const opens = opensIn(parts, known)
  const asked = opens.flatMap(({ patterns }) => patterns.flatMap(({ fits }) => fits ?? []))
  const findMember = (name: string) => {
    known.steps.spend(opens.length + asked.length)
    return [...(declared.get(name) ?? []).map(([, schema]) => schema), ...opens.flatMap((open) => inOpen(name, open))]
  }
  const members = new Map<string, Marks>()
  const member = (name: string): Marks => {
    // Of other names all that matters is which patterns they fit.
    const key = declared.has(name) ? `=${name}` : asked.map((fits) => Number(fits(name))).join('')
    const isPrivate = declared.has(name) && known.isNamed(name)
    const made = members.get(key) ?? (isPrivate ? allMarked : placeOf(known, () => findMember(name)))
    if (known.steps.left >= 0) members.set(key, made)
    return made
  }
  const findItems = () => parts.flatMap((part) => itemKeywords.flatMap((keyword) => listOf(part[keyword])))
  let items: Marks | undefined
  const item = (): Marks => {
    items ??= placeOf(known, findItems)
    return items
  }
  return { all: false, member, item }
}

/** Adds what applies to the same value. False if the value is marked, or a reference cannot be followed. */
function addSame(parts: Set<JsonObject>, known: Known): boolean {
  const { resolve, steps } = known
  for (const part of parts) {
    if (part['x-sensitive'] === true || isMarkedWithin(part['contentSchema'], known)) return false
    const same = [
      ...sameKeywords.flatMap((keyword) => listOf(part[keyword])),
      ...mapKeywords.flatMap((keyword) => Object.values(membersOf(part[keyword]))),
      ...refKeywords.map((keyword) => (part[keyword] === undefined ? true : resolve(part, keyword))),
    ]
    steps.spend(1 + same.length)
    for (const inner of same) {
      if (inner === undefined) return false
      if (isJsonObject(inner)) parts.add(inner)
    }
  }
  return true
}

// A mark on the names of a value is one on the value.
const sameKeywords = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'propertyNames']
const mapKeywords = ['dependentSchemas', 'dependencies']
const refKeywords = ['$ref', '$dynamicRef', '$recursiveRef'] as const
const itemKeywords = ['items', 'prefixItems', 'contains', 'unevaluatedItems']
const otherKeywords = ['additionalProperties', 'unevaluatedProperties']

/** True if there is a mark anywhere in what a text holds: it is hidden with the text. */
function isMarkedWithin(schema: Json | undefined, { resolve, steps }: Known): boolean {
  const nodes = new Set<Json | undefined>(schema === undefined ? [] : [schema])
  for (const node of nodes) {
    steps.spend(1)
    if (typeof node !== 'object' || node === null) continue
    const part = node as JsonObject
    const refs = refKeywords.filter((keyword) => typeof part[keyword] === 'string')
    const targets = refs.map((keyword) => resolve(part, keyword))
    if (part['x-sensitive'] === true || targets.includes(undefined)) return true
    for (const inner of [...Object.values(part), ...targets]) nodes.add(inner)
  }
  return false
}

/** What the schemas declare, by name. */
function declaredIn(parts: readonly JsonObject[], { steps }: Known): ReadonlyMap<string, readonly Declared[]> {
  const declared = parts.flatMap((part): Declared[] => [
    ...Object.entries(membersOf(part['properties'])),
    ...listOf(part['required']).flatMap((name): Declared[] => (typeof name === 'string' ? [[name, true]] : [])),
  ])
  steps.spend(declared.length)
  return Map.groupBy(declared, ([name]) => name)
}

type Declared = [name: string, schema: Json | undefined]

type Fits = ((name: string) => boolean) | undefined

type Open = ReturnType<typeof opensIn>[number]

/** What schemas say of members that they do not name. Whether a name fits a pattern cannot always be told. */
function opensIn(parts: readonly JsonObject[], { steps }: Known) {
  let left = patternsMax
  return parts.flatMap((part) => {
    const patterns = Object.entries(membersOf(part['patternProperties'])).map(([source, schema = true]) => {
      steps.spend(1)
      return { schema, fits: left-- > 0 ? beginningTest(source) : undefined }
    })
    const others = otherKeywords.flatMap((keyword) => (isJsonObject(part[keyword]) ? [part[keyword]] : []))
    return patterns.length + others.length === 0 ? [] : [{ names: membersOf(part['properties']), patterns, others }]
  })
}

/** So many are asked about every name. */
const patternsMax = 32

function inOpen(name: string, { names, patterns, others }: Open): Json[] {
  const maybe = patterns.filter(({ fits }) => fits?.(name) !== false)
  const isTaken = Object.hasOwn(names, name) || maybe.some(({ fits }) => fits !== undefined)
  return [...maybe.map(({ schema }) => schema), ...(isTaken ? [] : others)]
}

/** Whether a name fits a pattern, of plain beginnings and whole names alone: names could fit any choice of others. */
function beginningTest(source: string): Fits {
  const [, text, end] = /^\^((?:[\w :@/-]|\\[./-])*)(\$?)$/.exec(source) ?? []
  const beginning = text?.replaceAll('\\', '')
  if (beginning === undefined) return undefined
  return end === '' ? (name) => name.startsWith(beginning) : (name) => name === beginning
}

const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]
