import type { Json } from '../../src/base/canonical.ts'
import { resolve, type SchemaNode } from './arbitrary.ts'

/** One change to a valid value. `verdict` is what any validator must say to it, where that is certain. */
export interface Mutation {
  readonly name: string
  readonly verdict: 'valid' | 'invalid' | undefined
  readonly make: () => Json
}

/** Every single named change to a valid value of a schema, at every place of it. */
export const mutationsOf = (schema: SchemaNode, value: Json): Mutation[] =>
  changes(schema, value, { root: schema, certain: true, put: (changed) => changed })

interface Place {
  readonly root: SchemaNode
  /** False inside an alternative of a union: another alternative may accept the change. */
  readonly certain: boolean
  /** The whole value with this place changed. */
  readonly put: (changed: Json) => Json
}

function changes(node: SchemaNode, value: Json, place: Place): Mutation[] {
  if (node.$ref !== undefined) return changes(resolve(node.$ref, place.root), value, place)
  return [...wrongTypes(node, place), ...innerChanges(node, value, place)]
}

function innerChanges(node: SchemaNode, value: Json, place: Place): Mutation[] {
  const option = (node.anyOf ?? node.oneOf)?.find((candidate) => fits(candidate, value, place.root))
  if (option !== undefined) return changes(option, value, { ...place, certain: false })
  if (node.const !== undefined) return [mutation('not the constant', place, 'invalid', () => `${String(value)}x`)]
  if (node.enum !== undefined) return [mutation('out of enum', place, 'invalid', () => `${String(value)}x`)]
  if (typeof value === 'string') return textChanges(node, value, place)
  if (typeof value === 'number') return numberChanges(node, value, place)
  if (Array.isArray(value)) return arrayChanges(node, value, place)
  return isObject(value) && node.type !== undefined ? objectChanges(node, value, place) : []
}

const mutation = (name: string, place: Place, verdict: Mutation['verdict'], changed: () => Json): Mutation => ({
  name,
  verdict: place.certain ? verdict : undefined,
  make: () => place.put(changed()),
})

type JsonObject = { readonly [key: string]: Json }

const samples: readonly Json[] = [null, true, 7, 0.5, 'text', [], {}]

function wrongTypes(node: SchemaNode, place: Place): Mutation[] {
  const allowed = typesOf(node, place.root)
  if (allowed === undefined) return []
  return samples
    .filter((sample) => !typeNames(sample).some((name) => allowed.includes(name)))
    .map((sample) =>
      mutation(sample === null ? 'null where not nullable' : 'wrong type', place, 'invalid', () => sample),
    )
}

/** The types a node lets through, undefined when it lets any. */
function typesOf(node: SchemaNode, root: SchemaNode): readonly string[] | undefined {
  if (node.$ref !== undefined) return typesOf(resolve(node.$ref, root), root)
  const options = (node.anyOf ?? node.oneOf)?.map((option) => typesOf(option, root))
  if (options !== undefined) return options.includes(undefined) ? undefined : options.flatMap((types) => types ?? [])
  return typeof node.type === 'string' ? [node.type] : node.type
}

function typeNames(value: Json): readonly string[] {
  if (value === null) return ['null']
  if (Array.isArray(value)) return ['array']
  if (Number.isInteger(value)) return ['integer', 'number']
  return [typeof value]
}

/** Enough to tell the alternatives of our unions apart. */
function fits(node: SchemaNode, value: Json, root: SchemaNode): boolean {
  if (node.const !== undefined) return node.const === value
  const types = typesOf(node, root)
  if (types !== undefined && !typeNames(value).some((name) => types.includes(name))) return false
  if (!isObject(value)) return true
  const known = Object.entries(node.properties ?? {})
  return (
    (node.required ?? []).every((key) => Object.hasOwn(value, key)) &&
    known.every(([key, member]) => value[key] === undefined || fits(member, value[key], root))
  )
}

function textChanges(node: SchemaNode, value: string, place: Place): Mutation[] {
  const text = (name: string, changed: () => string): Mutation => mutation(name, place, undefined, changed)
  return [
    text('empty text', () => ''),
    text('pattern-breaking', () => `${value}\n`),
    text('pattern-breaking', () => ` ${value}`),
    text('pattern-breaking', () => `${value}\u0000`),
    text('pattern-breaking', () => `${value}*`),
    text('other case', () => value.toUpperCase()),
    text('other case', () => value.toLowerCase()),
    text('too long', () => value.padEnd(6_000, value || 'a')),
    text('too short', () => value.slice(0, -1)),
    ...lengthsOf(node).map((length) => text('length at a limit', () => 'a'.repeat(length))),
    ...lengthsOf(node).map((length) => text('astral length at a limit', () => '😀'.repeat(length))),
  ]
}

/** Every number a text's schema mentions may be a limit; each is tried with its successor. */
function lengthsOf({ pattern = '', minLength = 0, maxLength = 0 }: SchemaNode): number[] {
  const limits = [...pattern.matchAll(/\d+/g)].map(Number).concat(minLength, maxLength)
  return [...new Set(limits.flatMap((length) => [length, length + 1]))].filter((length) => length <= 5_000)
}

function numberChanges(
  { minimum, maximum, exclusiveMinimum, type }: SchemaNode,
  value: number,
  place: Place,
): Mutation[] {
  const outside = [
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(exclusiveMinimum === undefined ? [] : [exclusiveMinimum]),
    ...(type === 'integer' && Math.abs(value) < 1e9 ? [value + 0.5] : []),
  ]
  return outside.map((changed) => mutation('out of range', place, 'invalid', () => changed))
}

function arrayChanges(node: SchemaNode, value: readonly Json[], place: Place): Mutation[] {
  const { minItems = 0, maxItems, items = {} } = node
  const sized: Mutation[] = []
  if (minItems > 0) sized.push(mutation('array too short', place, 'invalid', () => value.slice(0, minItems - 1)))
  if (maxItems !== undefined && value.length > 0) {
    const filled = () => Array.from({ length: maxItems + 1 }, (_, index) => value[index % value.length] ?? null)
    sized.push(mutation('array too long', place, 'invalid', filled))
  }
  const inside = value.flatMap((item, index) =>
    changes(items, item, { ...place, put: (changed) => place.put(value.with(index, changed)) }),
  )
  return [...sized, ...inside]
}

function objectChanges(node: SchemaNode, value: JsonObject, place: Place): Mutation[] {
  const { properties = {}, required = [], additionalProperties } = node
  const inside = Object.entries(value).flatMap(([key, member]) => {
    const shape = Object.hasOwn(properties, key) ? properties[key] : additionalProperties
    const put = (changed: Json) => place.put({ ...value, [key]: changed })
    return shape ? changes(shape, member, { ...place, put }) : []
  })
  const removals = Object.keys(value)
    .filter((key) => Object.hasOwn(properties, key))
    .map((key) => removal(key, value, required.includes(key), place))
  return [...removals, ...additions(node, value, place), ...inside]
}

function removal(key: string, value: JsonObject, required: boolean, place: Place): Mutation {
  const rest = () => Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
  return required
    ? mutation('required member removed', place, 'invalid', rest)
    : mutation('optional member removed', place, 'valid', rest)
}

function additions(node: SchemaNode, value: JsonObject, place: Place): Mutation[] {
  const add = (name: string, added: Json) => () => ({ ...value, [name]: added })
  if (node.propertyNames !== undefined) {
    const member = Object.values(value)[0] ?? 'text'
    const names = ['', ' ', 'A b', '😀', 'x'.repeat(300)]
    return names.map((name) => mutation('odd member name', place, undefined, add(name, member)))
  }
  const closed = node.additionalProperties === false
  return ['unknown_member', 'constructor'].map((name) =>
    closed
      ? mutation('unknown member in a closed object', place, 'invalid', add(name, 'text'))
      : mutation('unknown member in an open object', place, 'valid', add(name, 'text')),
  )
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
