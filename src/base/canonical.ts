import { exactMicro, isUnsafe, moneyMembers, unsafeNumber } from './amount.ts'
import { Failure } from './failure.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** RFC 8785: no spaces, raw text, keys by UTF-16 unit, numbers as ECMAScript writes them. */
export const canonical = (value: Json): string => write(value, jcs, 0)

/** RFC 8785 as object hashes are made of it: money as whole millionths of a cent, and no integer that was rounded. */
export const hashable = (value: Json): string => write(value, hashed, 0)

/**
 * The Capability Host Protocol's `chp-stable-v1`: one space after `,` and `:`, keys by code point, everything
 * outside printable ASCII as `\uxxxx`, whole numbers only.
 */
export const stable = (value: Json): string => write(value, chpStable, 0)

interface Form {
  readonly comma: string
  readonly colon: string
  readonly quote: (text: string) => string
  readonly number: (value: number) => string
  readonly before: (a: string, b: string) => number
  readonly keys: Map<string, Member>
  /** Members whose numbers are written in a way of their own. */
  readonly money?: (value: number) => string
}

/** A key as it is written, with its colon: first in its object, and behind another. */
interface Member {
  readonly first: string
  readonly next: string
}

// Almost all keys are seen again: their quoted text is kept, up to a bound that hostile input cannot push.
const keysKeptMax = 4096
const keyCharsKeptMax = 64

// Far above what the reader lets in, far below what the call stack bears.
const depthMax = 512

function write(value: Json | undefined, form: Form, depth: number): string {
  if (typeof value === 'string') return form.quote(value)
  if (typeof value === 'number') return form.number(value)
  if (value === null) return 'null'
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (depth > depthMax) throw unsupported('a cycle, or nesting this deep,')
  if (Array.isArray(value)) return writeArray(value, form, depth + 1)
  if (typeof value === 'object') return writeObject(value as Readonly<Record<string, Json>>, form, depth + 1)
  throw unsupported(`a ${typeof value}`)
}

function writeArray(items: readonly Json[], form: Form, depth: number): string {
  let out = ''
  for (let index = 0; index < items.length; index++) {
    out += index === 0 ? write(items[index], form, depth) : form.comma + write(items[index], form, depth)
  }
  return `[${out}]`
}

function writeObject(object: Readonly<Record<string, Json>>, form: Form, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) throw unsupported('an object with a class')
  let out = '{'
  for (const key of sorted(Object.keys(object), form)) {
    const value = object[key]
    if (value === undefined) continue
    const { first, next } = member(key, form)
    const written =
      form.money !== undefined && typeof value === 'number' && moneyMembers.has(key)
        ? form.money(value)
        : write(value, form, depth)
    out += (out === '{' ? first : next) + written
  }
  return `${out}}`
}

/** Keys in order. Most objects have few keys, often in order already: there, moving each to its place is quickest. */
function sorted(keys: string[], form: Form): string[] {
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index] as string
    if (form.before(keys[index - 1] as string, key) <= 0) continue
    if (keys.length > fewKeys) return keys.sort(form.before)
    let place = index
    for (; place > 0 && form.before(keys[place - 1] as string, key) > 0; place--)
      keys[place] = keys[place - 1] as string
    keys[place] = key
  }
  return keys
}
const fewKeys = 16

function member(key: string, form: Form): Member {
  const kept = form.keys.get(key)
  if (kept !== undefined) return kept
  const first = form.quote(key) + form.colon
  const made = { first, next: form.comma + first }
  if (key.length <= keyCharsKeptMax && form.keys.size < keysKeptMax) form.keys.set(key, made)
  return made
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must be escaped
const plainJcs = /^[^\0-\x1f"\\\ud800-\udfff]*$/
const plainStable = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

function quoteJcs(text: string): string {
  if (plainJcs.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw unsupported('a lone surrogate')
  return JSON.stringify(text)
}

/** Printable ASCII that needs no escape. For short text a loop is quicker than the expression. */
function isPlain(text: string): boolean {
  if (text.length > shortChars) return plainStable.test(text)
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return false
  }
  return true
}
const shortChars = 48

function quoteStable(text: string): string {
  if (isPlain(text)) return `"${text}"`
  if (!text.isWellFormed()) throw unsupported('a lone surrogate')
  return JSON.stringify(text).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function numberJcs(value: number): string {
  if (!Number.isFinite(value)) throw unsupported('a number that is not finite')
  return value === 0 ? '0' : `${value}`
}

function numberHashed(value: number): string {
  if (isUnsafe(value)) throw unsafeNumber()
  return numberJcs(value)
}

function moneyHashed(value: number): string {
  const micro = exactMicro(value)
  if (micro === undefined) throw unsafeNumber()
  return numberJcs(micro)
}

function numberStable(value: number): string {
  if (!Number.isSafeInteger(value)) throw unsupported('a fraction or an integer beyond 2^53 − 1')
  return value === 0 ? '0' : `${value}`
}

/** Compares by UTF-16 units, as text is compared without asking for more. */
export const byUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Compares by Unicode code point: above U+D7FF this differs from comparing UTF-16 units. */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index)
    const right = b.charCodeAt(index)
    if (left !== right) return shifted(left) - shifted(right)
  }
  return a.length - b.length
}

// Moves surrogates above U+E000–U+FFFF, where the code points they spell belong.
const shifted = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

const jcs: Form = { comma: ',', colon: ':', quote: quoteJcs, number: numberJcs, before: byUnit, keys: new Map() }
const hashed: Form = { ...jcs, number: numberHashed, money: moneyHashed, keys: new Map() }
const chpStable: Form = {
  comma: ', ',
  colon: ': ',
  quote: quoteStable,
  number: numberStable,
  before: byCodePoint,
  keys: new Map(),
}

const unsupported = (what: string): Failure =>
  new Failure('canonical.unsupported', `${what} has no canonical form`, {}, 'send fractions and large integers as text')
