import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { defined, isJsonObject, type JsonObject } from '../base/object.ts'

/** The keyword that says how many steps it takes to hold a value against the part of a schema it stands in. */
export const stepsKeyword = 'x-ambit-steps'

export interface CountedSchema {
  /** The schema with `stepsKeyword` in every part that can be applied. */
  readonly schema: JsonObject
  /** How many parts are compiled: all of it, and again those of each that is referred to. */
  readonly parts: number
}

/** A schema of whoever, with its work counted. Throws if a reference leads to what could be applied uncounted. */
export function countSchema(schema: JsonObject): CountedSchema {
  // To know what nothing else has looked at, lists of names are carried along and joined at every part.
  const factor = JSON.stringify(schema).includes('"unevaluated') ? 4 : 1
  const walk: Walk = { sizes: new Map(), refs: new Map(), factor }
  const counted = countPart(schema, schema, walk)
  const whole = walk.sizes.get(schema) ?? 0
  let parts = whole
  for (const [resource, refs] of walk.refs)
    for (const ref of refs) parts += walk.sizes.get(targetOf(resource, ref)) ?? whole
  return { schema: counted as JsonObject, parts: parts * factor }
}

interface Walk {
  /** How much more work than usual each part is. */
  readonly factor: number
  /** How many objects there are in each object, itself included. */
  readonly sizes: Map<unknown, number>
  /** References by what they are relative to, each spelling once: so often the compiler follows them. */
  readonly refs: Map<JsonObject, Set<string>>
}

/** Keywords with members that are not keywords themselves. */
const mapKeywords: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions'],
  ...['dependentSchemas', 'dependentRequired', 'dependencies'],
])
const refKeywords = ['$ref', '$dynamicRef', '$recursiveRef']

function countPart(node: Json, resource: JsonObject, walk: Walk): Json {
  if (Array.isArray(node)) return node.map((item) => countPart(item, resource, walk))
  if (!isJsonObject(node)) return node
  const own = typeof node['$id'] === 'string' ? node : resource
  for (const keyword of refKeywords) noteRef(node[keyword], own, walk)
  const counted = Object.entries(defined(node)).flatMap(([key, value = null]): [string, Json][] => {
    // A schema that says so would be held against values later, when nobody waits for what comes of it.
    if (key === '$async') return []
    if (key === 'enum' || key === 'const') return [[key, value]]
    return [[key, mapKeywords.has(key) ? countMap(value, own, walk) : countPart(value, own, walk)]]
  })
  noteSize(node, walk)
  if (counted.length === 0) return {}
  return Object.fromEntries([...counted, [stepsKeyword, stepsOf(node) * walk.factor]])
}

function countMap(node: Json, resource: JsonObject, walk: Walk): Json {
  if (!isJsonObject(node)) return countPart(node, resource, walk)
  const counted = Object.entries(node).map(([key, value = null]) => [key, countPart(value, resource, walk)])
  noteSize(node, walk)
  return Object.fromEntries(counted)
}

/** Children come before. */
function noteSize(node: JsonObject, { sizes }: Walk): void {
  const inner = (value: Json | undefined): number =>
    Array.isArray(value) ? value.reduce((sum: number, item) => sum + inner(item), 0) : (sizes.get(value) ?? 0)
  sizes.set(
    node,
    Object.values(node).reduce((sum: number, value) => sum + inner(value), 1),
  )
}

function noteRef(ref: Json | undefined, resource: JsonObject, { refs }: Walk): void {
  if (typeof ref !== 'string') return
  // Values are not counted as parts, so they may not be used as such.
  if (/\/(?:enum|const)(?:\/|$)/.test(decodeURIComponent(ref)))
    throw new Failure('field.invalid', `${quote(ref)} refers to a value as if to a schema`)
  const known = refs.get(resource) ?? new Set<string>()
  refs.set(resource, known.add(ref))
}

/** Where a pointer leads; undefined for any other reference. */
function targetOf(resource: JsonObject, ref: string): Json | undefined {
  if (!ref.startsWith('#/')) return undefined
  const names = decodeURIComponent(ref.slice(2)).split('/')
  return names.reduce<Json | undefined>((node, name) => {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? (node as JsonObject)[key] : undefined
  }, resource)
}

// Every part makes a problem, and a problem takes room.
const partSteps = 8

/** What a part costs at each value, whatever the value: as much as it lists. Parts in it are counted on their own. */
const stepsOf = (part: JsonObject): number =>
  Object.entries(part).reduce((sum, [key, value = null]) => sum + listed(value, valueKeywords.has(key)), partSteps)

const valueKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'dependentRequired', 'dependencies'])

function listed(value: Json, isDeep: boolean): number {
  if (typeof value !== 'object' || value === null) return 1
  const items = Object.values(value)
  return isDeep ? items.reduce((sum: number, item = null) => sum + listed(item, true), 1) : items.length
}
