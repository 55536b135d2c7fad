import type { Json } from '../../base/canonical.ts'
import type { JsonObject } from '../../base/object.ts'
import { redactedText } from '../../model/evidence.ts'
import { isSensitiveName } from './names.ts'
import { scrubber } from './scrub-text.ts'

/** What must not be seen of a value: all of it, or what is marked in its members and items. */
export interface Marks {
  readonly all: boolean
  member(name: string): Marks
  item(): Marks
}

export const nothingMarked: Marks = { all: false, member: () => nothingMarked, item: () => nothingMarked }
export const allMarked: Marks = { all: true, member: () => allMarked, item: () => allMarked }

/** Hides what is marked, what has a sensitive name, and all texts of `secrets`. What holds none of that is not copied. */
export function redact(
  value: Json,
  marks: Marks,
  secrets: readonly string[] = [],
  isSensitive: (name: string) => boolean = isSensitiveName,
): { readonly value: Json; readonly redacted: boolean } {
  let redacted = false
  const hide = (): string => {
    redacted = true
    return redactedText
  }
  const scrub = scrubber(secrets, hide)
  const scrubNumber = numberScrubber(secrets, scrub)
  const walk = (node: Json, place: Marks): Json => {
    if (place.all) return hide()
    if (typeof node === 'string') return scrub(node)
    if (typeof node === 'number') return scrubNumber(node)
    if (node === null || typeof node !== 'object') return node
    if (isList(node)) return mapItems(node, (item) => walk(item, place.item()))
    return mapMembers(node, scrub, (member, key) => (isSensitive(key) ? hide() : walk(member, place.member(key))))
  }
  return { value: walk(value, marks), redacted }
}

/** The texts of a call that must turn up nowhere: those of its marked and sensitively named values. */
export function secretsIn(value: Json, marks: Marks): string[] {
  const texts = new Set<string>()
  const walk = (node: Json, place: Marks): void => {
    if (place.all && ((typeof node === 'string' && node !== '') || typeof node === 'number')) texts.add(`${node}`)
    if (node === null || typeof node !== 'object') return
    if (isList(node)) for (const item of node) walk(item, place.item())
    else
      for (const key of Object.keys(node)) walk(node[key] ?? null, isSensitiveName(key) ? allMarked : place.member(key))
  }
  walk(value, marks)
  return [...texts]
}

/** A text, such as a message or a URL, without any of the secrets. */
export const scrubText = (text: string, secrets: readonly string[]): string =>
  scrubber(secrets, () => redactedText)(text)

/** A value without any of the secrets, in its texts, its numbers and the names of its members; all else stays as it is. */
export const scrubValue = (value: Json, secrets: readonly string[]): Json =>
  redact(value, nothingMarked, secrets, () => false).value

/** A number is hidden only as a whole: parts of it are no secret. They are written out only where a secret could be one. */
function numberScrubber(secrets: readonly string[], scrub: ReturnType<typeof scrubber>): (number: number) => Json {
  if (!secrets.some((secret) => /^\s*[\d.e+-]+\s*$/.test(secret))) return (number) => number
  return (number) => (scrub(`${number}`, 'whole') === `${number}` ? number : redactedText)
}

const isList = (node: Json): node is readonly Json[] => Array.isArray(node)

function mapItems(items: readonly Json[], map: (item: Json) => Json): readonly Json[] {
  const mapped = items.map(map)
  return mapped.every((item, index) => item === items[index]) ? items : mapped
}

function mapMembers(
  object: JsonObject,
  rename: (key: string) => string,
  map: (member: Json, key: string) => Json,
): JsonObject {
  const entries = Object.entries(object).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  const mapped = entries.map(([key, member]) => [rename(key), map(member, key)] as const)
  const isSame = mapped.every(([key, member], at) => key === entries[at]?.[0] && member === entries[at]?.[1])
  return isSame ? object : Object.fromEntries(mapped)
}
