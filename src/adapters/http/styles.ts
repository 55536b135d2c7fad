import type { Json } from '../../base/canonical.ts'
import { isJsonObject } from '../../base/object.ts'
import { CallEnded } from '../../gateway/ended.ts'

/** Name and value, both as they stand in an address. */
export type Pair = readonly [name: string, value: string]

export type PathStyle = 'simple' | 'label' | 'matrix' | 'json'
export type PairStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'json'

/** Everything but letters, digits and `-._~`. */
export const encoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )

interface Value {
  readonly name: string
  readonly value: Json
  readonly explode: boolean
  /** How a single text is written. */
  readonly write: (text: string) => string
}

/** A value in a path or a header, as URI templates expand it: `5`, `.5`, `;id=5`. */
export function inPath(style: PathStyle, { name, value, explode, write }: Value): string {
  if (style === 'json') return write(JSON.stringify(value))
  const [prefix, separator] = { simple: ['', ','], label: ['.', '.'], matrix: [';', ';'] }[style] as [string, string]
  const key = write(name)
  const named = (text: string): string => (style !== 'matrix' ? text : text === '' ? key : `${key}=${text}`)
  const parts = partsOf(value, name, write)
  if (!explode) return prefix + named(parts.flat().join(','))
  return prefix + parts.map((part) => (typeof part === 'string' ? named(part) : part.join('='))).join(separator)
}

/** A value in a query, a form or cookies, as the pairs it consists of. */
export function asPairs(style: PairStyle, { name, value, explode, write }: Value): Pair[] {
  const key = write(name)
  if (style === 'json') return [[key, write(JSON.stringify(value))]]
  if (style === 'deepObject')
    return isJsonObject(value) ? deepPairs(name, value, name, write) : refuse(name, 'an object')
  const separator = { form: ',', spaceDelimited: write(' '), pipeDelimited: write('|') }[style]
  const parts = partsOf(value, name, write)
  if (!explode) return [[key, parts.flat().join(separator)]]
  return parts.map((part) => (typeof part === 'string' ? [key, part] : part))
}

/** `filter[owner][id]=5`; of a list each item under the same name. */
function deepPairs(path: string, value: Json, name: string, write: Value['write']): Pair[] {
  if (!isJsonObject(value)) return itemsOf(value).map((item) => [write(path), write(plain(item, name))])
  return Object.entries(value).flatMap(([key, member = null]) => deepPairs(`${path}[${key}]`, member, name, write))
}

/** The members of an object as pairs, the items of a list, or the one value that it is. */
const partsOf = (value: Json, name: string, write: Value['write']): readonly (string | Pair)[] =>
  isJsonObject(value)
    ? Object.entries(value).map(([key, member = null]): Pair => [write(key), write(plain(member, name))])
    : itemsOf(value).map((item) => write(plain(item, name)))

/** A single value as text. Lists and objects have no such form inside others. */
export function plain(value: Json, name: string): string {
  if (value === null) return ''
  return typeof value === 'object' ? refuse(name, 'text, a number or a list of them') : String(value)
}

export const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

/** A list as it is, any other value as a list of one. */
export const itemsOf = (value: Json): readonly Json[] => (isList(value) ? value : [value])

/** Says by its name that a member of the input cannot be sent. */
export function refuse(name: string, expected: string): never {
  throw new CallEnded('request_invalid', `\`${name}\` must be ${expected}`, { effect: 'none', type: 'InvalidRequest' })
}
