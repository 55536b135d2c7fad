import type { Json } from '../../base/canonical.ts'
import { isJsonObject, type JsonObject, membersOf } from '../../base/object.ts'
import { at, listOf, type OpenApi } from './document.ts'

/** What a schema is for: what is only read is no part of an input or a form, what is only written none of an output. */
export type Side = 'input' | 'form' | 'output'

export interface Conversion {
  readonly api: OpenApi
  readonly side: Side
  /** The schema that stands for a reference within the document. */
  readonly refer: (ref: string) => JsonObject
}

/** A schema of a document as JSON Schema 2020-12: every keyword that is known and well formed, and no other. */
export function keywordsOf(schema: Json | undefined, conversion: Conversion): JsonObject {
  if (!isJsonObject(schema)) return schema === false ? { not: {} } : {}
  if (conversion.side === 'form' && schema['type'] === 'string' && schema['format'] === 'binary') return file
  const { $ref } = schema
  if (typeof $ref !== 'string') return adjusted(known(schema, conversion), schema, conversion)
  const target = $ref.startsWith('#') ? conversion.refer($ref) : {}
  // In 3.0 nothing counts beside a reference.
  return conversion.api.version === '3.0' ? target : { ...known(schema, conversion), ...target }
}

/** A file in a form, as `bodyOf` takes it. */
const file: JsonObject = {
  type: 'object',
  properties: {
    base64: { type: 'string', contentEncoding: 'base64' },
    filename: { type: 'string' },
    content_type: { type: 'string' },
  },
  required: ['base64'],
  additionalProperties: false,
}

type Reader = (value: Json, conversion: Conversion, schema: JsonObject) => Json | undefined

function known(schema: JsonObject, conversion: Conversion): JsonObject {
  const members = Object.entries(schema).flatMap(([key, value = null]): [string, Json][] => {
    const made = readers.get(key)?.(value, conversion, schema)
    return made === undefined ? [] : [[key === 'pattern' ? 'x-pattern' : key, made]]
  })
  return Object.fromEntries(members)
}

const text: Reader = (value) => (typeof value === 'string' ? value.slice(0, 1_000).toWellFormed() : undefined)
const flag: Reader = (value) => (typeof value === 'boolean' ? value : undefined)
const number: Reader = (value) => (typeof value === 'number' ? value : undefined)
const count: Reader = (value) => (Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined)
const texts = (value: Json | undefined): string[] => [
  ...new Set(listOf(value).filter((item) => typeof item === 'string')),
]
const one: Reader = (value, conversion) => {
  if (Array.isArray(value)) return undefined
  return typeof value === 'boolean' ? value : keywordsOf(value, conversion)
}
const several: Reader = (value, conversion) =>
  listOf(value).length === 0 ? undefined : listOf(value).map((item) => keywordsOf(item, conversion))
const named: Reader = (value, conversion) =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, keywordsOf(item, conversion)]))
    : undefined
/** Names that follow a pattern cannot be told from others here, as no pattern of a document is run. */
const others: Reader = (value, conversion, schema) =>
  schema['patternProperties'] === undefined ? one(value, conversion, schema) : undefined

const types = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']
const type: Reader = (value) => {
  const found = texts([value].flat() as Json).filter((name) => types.includes(name))
  return found.length > 1 ? found : found[0]
}

const required: Reader = (value, { api, side }, { properties }) => {
  const found = texts(value).filter((key) => !isForOther(api, membersOf(properties)[key], side))
  return found.length === 0 ? undefined : found
}

/** True if a member is for the other side alone. */
function isForOther({ root }: OpenApi, schema: Json | undefined, side: Side): boolean {
  const target = isJsonObject(schema) && typeof schema['$ref'] === 'string' ? at(root, schema['$ref']) : schema
  return isJsonObject(target) && target[side === 'output' ? 'writeOnly' : 'readOnly'] === true
}

const read = (reader: Reader, ...keys: string[]) => keys.map((key) => [key, reader] as const)

const readers = new Map<string, Reader>([
  // A pattern is for people and models to read. A server checks it; here a pattern of others could take for ever.
  ...read(text, 'title', 'description', 'format', 'contentEncoding', 'contentMediaType', 'pattern'),
  ...read(flag, 'uniqueItems', 'deprecated', 'readOnly', 'writeOnly', 'x-sensitive'),
  ...read(count, 'minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains'),
  ...read(count, 'minProperties', 'maxProperties'),
  ...read(number, 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'),
  ...read((value) => (typeof value === 'number' && value > 0 ? value : undefined), 'multipleOf'),
  ...read((value) => (listOf(value).length > 0 ? value : undefined), 'enum'),
  ...read((value) => value, 'const', 'default'),
  ...read(type, 'type'),
  ...read(required, 'required'),
  ...read(one, 'not', 'items', 'contains', 'propertyNames', 'if', 'then', 'else'),
  ...read(others, 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'),
  ...read(several, 'allOf', 'anyOf', 'oneOf', 'prefixItems'),
  ...read(named, 'properties', 'dependentSchemas'),
])

/** What 3.0 says in words of its own, and what OpenAPI means by words of JSON Schema. */
function adjusted(made: JsonObject, schema: JsonObject, conversion: Conversion): JsonObject {
  const { format, discriminator, items, nullable } = schema
  const changed: Record<string, Json | undefined> = { ...made }
  if (format === 'password') changed['x-sensitive'] = true
  if (Array.isArray(items)) changed['prefixItems'] = several(items, conversion, schema)
  // With a discriminator one of them is meant, though several may fit.
  if (discriminator !== undefined && made['oneOf'] !== undefined) {
    changed['anyOf'] = made['oneOf']
    delete changed['oneOf']
  }
  for (const [bound, limit] of Object.entries({ exclusiveMinimum: 'minimum', exclusiveMaximum: 'maximum' }))
    if (schema[bound] === true && made[limit] !== undefined) {
      changed[bound] = made[limit]
      delete changed[limit]
    }
  return nullable === true && conversion.api.version === '3.0' ? orNull(changed) : changed
}

function orNull(schema: JsonObject): JsonObject {
  const { type: named, enum: values } = schema
  if (named === undefined) return { anyOf: [schema as Json, { type: 'null' }] }
  const more = Array.isArray(values) && !values.includes(null) && { enum: [...values, null] }
  return { ...schema, type: [named, 'null'].flat() as Json, ...more }
}
