import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { shortened } from '../../base/words.ts'

export interface Remark {
  readonly at: string
  readonly text: string
}

/**
 * Only keywords that say what a value may be, names that read as names, and values that read as values; the rest apart,
 * to be fenced. What is left out admits more, never less, but for references; the gates still know all of it.
 */
export function withoutWords(schema: JsonObject): { readonly schema: JsonObject; readonly remarks: readonly Remark[] } {
  const walk: Walk = { remarks: [], lost: 0, blanks: 0 }
  return { schema: strip(schema, '', walk) as JsonObject, remarks: walk.remarks }
}

interface Walk {
  readonly remarks: Remark[]
  /** How often something was left out that said what a value may be. */
  lost: number
  /** Of all values that are shown. */
  blanks: number
}

function strip(schema: Json | undefined, at: string, walk: Walk): Json {
  if (!isJsonObject(schema)) return schema !== false
  for (const word of ['title', 'description'])
    if (typeof schema[word] === 'string') walk.remarks.push({ at, text: schema[word] })
  const [shown, loose]: [Record<string, Json>, Set<string>] = [{}, new Set()]
  for (const [keyword, value] of Object.entries(schema)) {
    const before = walk.lost
    const kept = value === undefined ? undefined : shownOf(keyword, value, at, walk)
    if (kept !== undefined) shown[keyword] = kept
    if (walk.lost > before) loose.add(keyword)
  }
  return notStricter(schema, shown, loose)
}

/** Of what depends on a part being as strict as it was nothing stays, if that part lost something. */
function notStricter(schema: JsonObject, shown: Record<string, Json>, loose: ReadonlySet<string>): Json {
  const { oneOf, additionalProperties, not, maxContains, if: condition, ...rest } = shown
  const { then: _, else: __, ...unconditional } = rest
  const isOpen = loose.has('patternProperties') || sizeOf(schema['properties']) > sizeOf(shown['properties'])
  return {
    ...(loose.has('if') ? unconditional : { ...rest, ...(condition !== undefined && { if: condition }) }),
    ...(maxContains !== undefined && !loose.has('contains') && { maxContains }),
    ...(not !== undefined && !loose.has('not') && { not }),
    ...(additionalProperties !== undefined && !isOpen && { additionalProperties }),
    ...(oneOf !== undefined && (!loose.has('oneOf') ? { oneOf } : rest['anyOf'] === undefined && { anyOf: oneOf })),
  }
}

const sizeOf = (value: Json | undefined): number => (isJsonObject(value) ? Object.keys(value).length : 0)

/** What is shown of a keyword; undefined if nothing is. */
function shownOf(keyword: string, value: Json, at: string, walk: Walk): Json | undefined {
  if (inner.has(keyword)) return each(value, (one, index) => strip(one, `${at}${index}`, walk))
  if (maps.has(keyword)) return mapped(value, at, walk, (one, key) => strip(one, `${at}/${key}`, walk))
  if (keyword === 'required') return namesIn(value, walk)
  if (keyword === 'dependentRequired') return mapped(value, at, walk, (one) => namesIn(one, walk) ?? [])
  if (fits.get(keyword)?.(value) && isNoSpeech(value, walk)) return value
  if (keyword === 'enum' || keyword === 'const') walk.remarks.push({ at, text: listed(value) })
  if (constraints.has(keyword)) walk.lost += 1
  return undefined
}

const each = (value: Json, of: (one: Json, index: string) => Json): Json =>
  Array.isArray(value) ? value.map((one, index) => of(one, `/${index}`)) : of(value, '')

function mapped(value: Json, at: string, walk: Walk, of: (one: Json, key: string) => Json): Json | undefined {
  if (!isJsonObject(value)) return undefined
  const entries = Object.entries(value).filter(([key]) => {
    if (isName(key)) return true
    walk.lost += 1
    walk.remarks.push({ at, text: listed(key) })
    return false
  })
  return Object.fromEntries(entries.map(([key, one]) => [key, of(one as Json, key)]))
}

function namesIn(value: Json, walk: Walk): Json | undefined {
  if (!Array.isArray(value)) return undefined
  const kept = value.filter((one) => typeof one === 'string' && isName(one))
  walk.lost += value.length - kept.length
  return kept
}

/** Names and values that are not shown where they stood, for the fence. */
const listed = (value: Json): string => shortened(`as JSON: ${JSON.stringify(value)}`, limits.toolValueCharsMax)

/** Values of several words could be read one behind the other: all those of a schema have few blanks. */
function isNoSpeech(value: Json, walk: Walk): boolean {
  const texts = [value].flat().filter((one) => typeof one === 'string')
  const blanks = walk.blanks + texts.reduce((sum, text) => sum + text.split(' ').length - 1, 0)
  if (blanks > blanksMax) return false
  walk.blanks = blanks
  return true
}

const wordsIn = (text: string): number => text.match(/[\p{L}\p{M}\p{N}]+/gu)?.length ?? 0
const wordsMax = 8
const blanksMax = 8

const isShort = (text: string): boolean => text.length <= limits.toolNameCharsMax && wordsIn(text) <= wordsMax
const word = String.raw`[\p{L}\p{M}\p{N}_.:/@+-]+`
const valueLike = new RegExp(`^(?:${word}(?: ${word}){0,3})?$`, 'u')
const nameLike = /^[\p{L}\p{M}\p{N}_.:/@+$[\]-]+$/u
const isName = (text: string): boolean => isShort(text) && nameLike.test(text)

const isValue = (value: Json): boolean =>
  typeof value === 'string' ? isShort(value) && valueLike.test(value) : value === null || typeof value !== 'object'

const set = (names: string): ReadonlySet<unknown> => new Set(names.split(' '))

const types = set('string number integer boolean object array null')
const formats = set(
  'date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference uuid uri-template json-pointer relative-json-pointer regex',
)
const bounds =
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems minContains maxContains minProperties maxProperties'

/** Which values of a keyword are shown as they are. */
const fits: ReadonlyMap<string, (value: Json) => boolean> = new Map([
  ...bounds.split(' ').map((name) => [name, (value: Json) => /^[nb]/.test(typeof value)] as const),
  ['type', (value) => [value].flat().every((one) => types.has(one))],
  ['format', (value) => formats.has(value)],
  ['const', isValue],
  ['enum', (value) => Array.isArray(value) && value.length <= limits.toolValuesMax && value.every(isValue)],
  // What a reference leads to is left out with its name.
  ['$ref', (value) => typeof value === 'string' && /^#(?:$|\/)/.test(value) && value.split('/').slice(1).every(isName)],
])

const inner = set(
  'items prefixItems additionalItems contains additionalProperties propertyNames allOf anyOf oneOf not if then else',
)
const maps = set('properties $defs definitions dependentSchemas')
const constraints = set(
  `$ref $dynamicRef type enum const format pattern patternProperties unevaluatedItems unevaluatedProperties ${bounds}`,
)
