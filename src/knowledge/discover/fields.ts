import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import type { DiagnosticCode } from '../diagnostic.ts'
import { cleanValue } from './clean.ts'

/** Reads the fields of a map and reports each that is wrong. */
export interface Fields {
  /** Text in its written form, cleaned and trimmed; undefined when it is missing, empty or no text. */
  text(key: string): string | undefined
  /** The same as it stands, for values that must match: a cleaned one would be another value. */
  exact(key: string): string | undefined
  /** Nothing, or nothing but blanks. */
  isEmpty(key: string): boolean
  texts(key: string): readonly string[]
  /** The fields of a map below this one; empty when it is missing. */
  below(key: string): Fields
  /** What the map holds besides the fields that were asked for, at every level. */
  rest(): { readonly [key: string]: Json }
}

export type Report = (code: DiagnosticCode, message: string) => void

export function fieldsOf(map: JsonObject, report: Report, prefix = ''): Fields {
  const asked = new Set<string>()
  const maps = new Map<string, Fields>()
  const read = (key: string): Json => (Object.hasOwn(map, key) ? (map[key] ?? null) : null)
  const at = (key: string): Json => {
    asked.add(key)
    return read(key)
  }
  const wrong = (key: string, kind: string): undefined =>
    void report('field-type', `${quote(prefix + key)} must be ${kind}`)
  const cleaned = (key: string, value: string): string => {
    const clean = cleanValue(value)
    if (clean !== value) report('value-cleaned', `${quote(prefix + key)} held characters that cannot be seen`)
    return clean.trim()
  }
  const exact = (key: string): string | undefined => {
    if (isBlank(at(key))) return undefined
    return writtenForm(at(key)) ?? wrong(key, 'text')
  }
  return {
    exact,
    isEmpty: (key) => isBlank(at(key)),
    text: (key) => {
      const written = exact(key)
      return written === undefined ? undefined : cleaned(key, written) || undefined
    },
    texts: (key) => {
      const value = at(key)
      if (value === null) return []
      const items = Array.isArray(value) ? value.map(writtenForm) : [undefined]
      if (!items.every((item) => item !== undefined)) return wrong(key, 'a list of text') ?? []
      return items.map((item) => cleaned(key, item)).filter((item) => item !== '')
    },
    below: (key) => {
      const value = read(key)
      if (value !== null && !isJsonObject(value)) wrong(key, 'a map')
      const fields = fieldsOf(isJsonObject(value) ? value : {}, report, `${prefix}${key}.`)
      maps.set(key, fields)
      return fields
    },
    rest: () =>
      Object.fromEntries(
        Object.entries(map).flatMap(([key, value]): [string, Json][] => {
          if (value === undefined || asked.has(key)) return []
          const fields = maps.get(key)
          if (fields === undefined || !isJsonObject(value)) return [[key, value]]
          const rest = fields.rest()
          return Object.keys(rest).length === 0 ? [] : [[key, rest]]
        }),
      ),
  }
}

const isBlank = (value: Json): boolean =>
  value === null || (typeof value === 'string' && cleanValue(value).trim() === '')

/** Scalars were only read as numbers or truth values where that gives their text back. */
const writtenForm = (value: Json): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'object' ? undefined : String(value)
