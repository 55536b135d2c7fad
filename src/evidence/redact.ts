import type { Json } from '../base/canonical.ts'
import type { JsonObject } from '../base/object.ts'
import { redactedText } from '../model/evidence.ts'
import { isSensitiveName } from './names.ts'
import { scrubber } from './scrub.ts'

/** What must not be seen: places by JSON Pointer (`*` for any item or member), or everything. */
export interface Marks {
  readonly pointers: ReadonlySet<string>
  readonly all: boolean
}

export interface Redaction {
  readonly value: Json
  /** True if anything was held back. */
  readonly redacted: boolean
}

/**
 * Replaces what is marked, what has a sensitive name, and every text of `secrets` wherever it turns up. Whatever holds
 * nothing of that is not copied.
 */
export function redact(
  value: Json,
  marks: Marks,
  secrets: readonly string[] = [],
  isSensitive: (name: string) => boolean = isSensitiveName,
): Redaction {
  let redacted = false
  const hide = (): string => {
    redacted = true
    return redactedText
  }
  const scrub = scrubber(secrets, hide)
  const scrubNumber = numberScrubber(secrets, scrub)
  const walk = (node: Json, pointer: string): Json => {
    if (isMarked(marks, pointer)) return hide()
    if (typeof node === 'string') return scrub(node)
    if (typeof node === 'number') return scrubNumber(node)
    if (node === null || typeof node !== 'object') return node
    if (isList(node)) return mapItems(node, (item) => walk(item, below(marks, pointer)))
    return mapMembers(node, scrub, (member, key) =>
      isSensitive(key) ? hide() : walk(member, below(marks, pointer, key)),
    )
  }
  return { value: walk(value, ''), redacted }
}

/** The texts of a call that must turn up nowhere: those of its marked and sensitively named values. */
export function secretsIn(value: Json, marks: Marks): string[] {
  const texts = new Set<string>()
  const walk = (node: Json, pointer: string, inside: boolean): void => {
    const secret = inside || isMarked(marks, pointer)
    if (secret && ((typeof node === 'string' && node !== '') || typeof node === 'number')) texts.add(`${node}`)
    if (node === null || typeof node !== 'object') return
    if (isList(node)) for (const item of node) walk(item, below(marks, pointer), secret)
    else
      for (const key of Object.keys(node))
        walk(node[key] ?? null, below(marks, pointer, key), secret || isSensitiveName(key))
  }
  walk(value, '', false)
  return [...texts]
}

/** A text, such as a message or a URL, without any of the secrets. */
export const scrubText = (text: string, secrets: readonly string[]): string =>
  scrubber(secrets, () => redactedText)(text)

/** A value without any of the secrets, in its texts, its numbers and the names of its members; all else stays as it is. */
export function scrubValue(value: Json, secrets: readonly string[]): Json {
  const scrub = scrubber(secrets, () => redactedText)
  const scrubNumber = numberScrubber(secrets, scrub)
  const walk = (node: Json): Json => {
    if (typeof node === 'string') return scrub(node)
    if (typeof node === 'number') return scrubNumber(node)
    if (node === null || typeof node !== 'object') return node
    return isList(node) ? mapItems(node, walk) : mapMembers(node, scrub, walk)
  }
  return walk(value)
}

/** A number is hidden only as a whole: parts of it are no secret. They are written out only where a secret could be one. */
function numberScrubber(secrets: readonly string[], scrub: ReturnType<typeof scrubber>): (number: number) => Json {
  if (!secrets.some((secret) => /^\s*[\d.e+-]+\s*$/.test(secret))) return (number) => number
  return (number) => (scrub(`${number}`, 'whole') === `${number}` ? number : redactedText)
}

function isMarked({ pointers, all }: Marks, pointer: string): boolean {
  if (all || pointers.size === 0) return all
  if (pointers.has(pointer)) return true
  const parent = pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')))
  return pointer !== '' && pointers.has(`${parent}/*`)
}

/** The pointer of a member, or of any item. Where nothing is marked no place matters, and none is written. */
const below = ({ pointers }: Marks, pointer: string, key?: string): string =>
  pointers.size === 0 ? '' : `${pointer}/${key === undefined ? '*' : escaped(key)}`

const isList = (node: Json): node is readonly Json[] => Array.isArray(node)

function mapItems(items: readonly Json[], map: (item: Json) => Json): readonly Json[] {
  let copy: Json[] | undefined
  for (const [index, item] of items.entries()) {
    const mapped = map(item)
    if (mapped === item) continue
    copy ??= [...items]
    copy[index] = mapped
  }
  return copy ?? items
}

function mapMembers(
  object: JsonObject,
  rename: (key: string) => string,
  map: (member: Json, key: string) => Json,
): JsonObject {
  let changed = false
  const entries: [string, Json][] = []
  for (const key of Object.keys(object)) {
    const member = object[key]
    if (member === undefined) continue
    const entry: [string, Json] = [rename(key), map(member, key)]
    changed ||= entry[0] !== key || entry[1] !== member
    entries.push(entry)
  }
  return changed ? Object.fromEntries(entries) : object
}

export const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')
