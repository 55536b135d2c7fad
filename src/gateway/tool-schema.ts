import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { isJsonObject, type JsonObject } from '../base/object.ts'

/** One remark of a schema, and where it stood. */
export interface Remark {
  readonly at: string
  readonly text: string
}

/**
 * A schema without words: only keywords that say what a value may be. What it says to whoever reads it is handed out
 * apart, so that it can be fenced. Names and values stay as they are, because a call is made of them; but those that
 * are long enough to be a speech are left out, and the gates still know them.
 */
export function withoutWords(schema: JsonObject): { readonly schema: JsonObject; readonly remarks: readonly Remark[] } {
  const remarks: Remark[] = []
  return { schema: strip(schema, '', remarks) as JsonObject, remarks }
}

function strip(schema: Json | undefined, at: string, remarks: Remark[]): Json | undefined {
  if (!isJsonObject(schema)) return schema
  for (const word of ['title', 'description'])
    if (typeof schema[word] === 'string') remarks.push({ at, text: schema[word] })
  const entries = Object.entries(schema).flatMap(([name, value]): [string, Json | undefined][] => {
    if (values.has(name)) return brief(name, value)
    if (inner.has(name)) return [[name, each(value, (one, index) => strip(one, `${at}${index}`, remarks))]]
    if (maps.has(name)) return [[name, mapped(value, (one, key) => strip(one, `${at}/${key}`, remarks))]]
    return []
  })
  return Object.fromEntries(entries) as Json
}

/** A schema, or a list of them. */
const each = (value: Json | undefined, of: (one: Json, index: string) => Json | undefined): Json | undefined =>
  Array.isArray(value) ? value.map((one, index) => of(one, `/${index}`) ?? null) : value && of(value, '')

const mapped = (value: Json | undefined, of: (one: Json, key: string) => Json | undefined): Json | undefined =>
  isJsonObject(value)
    ? (Object.fromEntries(named(value).map(([key, one]) => [key, of(one as Json, key)])) as Json)
    : value

const named = (value: JsonObject) => Object.entries(value).filter(([key]) => isName(key))
const isName = (text: Json): boolean => typeof text !== 'string' || text.length <= limits.toolNameCharsMax

/** The keyword with as much of its value as is short enough; without it if nothing is. */
function brief(name: string, value: Json | undefined): [string, Json | undefined][] {
  if (Array.isArray(value)) {
    const kept = value.filter(name === 'required' ? isName : isShort)
    return kept.length === 0 && value.length > 0 ? [] : [[name, kept]]
  }
  if (name === 'dependentRequired')
    return [[name, mapped(value, (one) => (Array.isArray(one) ? one.filter(isName) : one))]]
  // What a reference leads to is left out with its name.
  const isKept = name.endsWith('Ref') || name === '$ref' ? String(value).split('/').every(isName) : isShort(value)
  return isKept ? [[name, value]] : []
}

const isShort = (value: Json | undefined): boolean => (JSON.stringify(value) ?? '').length <= limits.toolValueCharsMax

const set = (names: string): ReadonlySet<string> => new Set(names.split(' '))

const values = set(
  '$ref $anchor $dynamicRef $dynamicAnchor type enum const format pattern required dependentRequired minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems minContains maxContains minProperties maxProperties',
)
const inner = set(
  'items prefixItems additionalItems contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties allOf anyOf oneOf not if then else',
)
const maps = set('properties patternProperties $defs definitions dependentSchemas')
