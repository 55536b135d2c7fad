import type { Json } from './canonical.ts'
import { Failure } from './failure.ts'
import { limits } from './limits.ts'

export interface JsonLimits {
  readonly bytesMax?: number
  readonly depthMax?: number
}

/**
 * Reads JSON from outside, and refuses what two readers could understand differently: duplicate members, integers
 * beyond ±(2^53 − 1), lone surrogates, `__proto__`, a byte-order mark, bytes that are not UTF-8, and too much of
 * anything. A refusal names the place, never the value.
 */
export function readJson(input: string | Uint8Array, bounds: JsonLimits = {}): Json {
  const bytesMax = bounds.bytesMax ?? limits.jsonBytesMax
  const size = typeof input === 'string' ? Buffer.byteLength(input) : input.byteLength
  if (size > bytesMax) throw new Failure('json.too_large', `the text has ${size} bytes, at most ${bytesMax} are read`)
  const reader: Reader = { text: decode(input), at: 0, depthMax: bounds.depthMax ?? limits.jsonDepthMax }
  const value = readValue(reader, 0)
  skipBlanks(reader)
  if (reader.at < reader.text.length) throw invalid(reader, 'text after the value')
  return value
}

interface Reader {
  readonly text: string
  readonly depthMax: number
  at: number
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(input: string | Uint8Array): string {
  if (typeof input === 'string') {
    if (!input.isWellFormed()) throw new Failure('json.invalid', 'the text holds a lone surrogate')
    return input
  }
  try {
    return utf8.decode(input)
  } catch {
    throw new Failure('json.invalid', 'the bytes are not UTF-8')
  }
}

function readValue(reader: Reader, depth: number): Json {
  skipBlanks(reader)
  switch (reader.text.charCodeAt(reader.at)) {
    case 0x22:
      return readString(reader)
    case 0x7b:
      return readObject(reader, depth + 1)
    case 0x5b:
      return readArray(reader, depth + 1)
    case 0x74:
      return readWord(reader, 'true', true)
    case 0x66:
      return readWord(reader, 'false', false)
    case 0x6e:
      return readWord(reader, 'null', null)
    default:
      return readNumber(reader)
  }
}

function readObject(reader: Reader, depth: number): Json {
  if (depth > reader.depthMax) throw invalid(reader, `more than ${reader.depthMax} levels`)
  const object: Record<string, Json> = {}
  if (opens(reader, 0x7d)) return object
  do {
    skipBlanks(reader)
    const start = reader.at
    if (reader.text.charCodeAt(start) !== 0x22) throw invalid(reader, 'a member name was expected')
    const key = readString(reader)
    if (key === '__proto__') throw invalid({ ...reader, at: start }, 'the member name `__proto__`')
    if (Object.hasOwn(object, key)) throw invalid({ ...reader, at: start }, 'a member name that occurs twice')
    skipBlanks(reader)
    if (reader.text.charCodeAt(reader.at) !== 0x3a) throw invalid(reader, 'a `:` was expected')
    reader.at++
    object[key] = readValue(reader, depth)
  } while (continues(reader, 0x7d))
  return object
}

function readArray(reader: Reader, depth: number): Json {
  if (depth > reader.depthMax) throw invalid(reader, `more than ${reader.depthMax} levels`)
  const items: Json[] = []
  if (opens(reader, 0x5d)) return items
  do items.push(readValue(reader, depth))
  while (continues(reader, 0x5d))
  return items
}

/** Steps over the opening bracket; true when the closing one follows at once. */
function opens(reader: Reader, close: number): boolean {
  reader.at++
  skipBlanks(reader)
  if (reader.text.charCodeAt(reader.at) !== close) return false
  reader.at++
  return true
}

/** Steps over a comma (true) or the closing bracket (false). */
function continues(reader: Reader, close: number): boolean {
  skipBlanks(reader)
  const unit = reader.text.charCodeAt(reader.at)
  if (unit !== 0x2c && unit !== close) throw invalid(reader, 'a `,` or the end was expected')
  reader.at++
  return unit === 0x2c
}

function readString(reader: Reader): string {
  const { text } = reader
  const start = reader.at
  let end = start + 1
  let escaped = false
  for (; ; end++) {
    const unit = text.charCodeAt(end)
    if (unit === 0x22) break
    if (unit === 0x5c) {
      escaped = true
      end++
    } else if (unit < 0x20 || Number.isNaN(unit)) {
      throw invalid({ ...reader, at: Math.min(end, text.length) }, 'a control character, or no end, in a string')
    }
  }
  reader.at = end + 1
  return escaped ? unescaped(reader, start, text.slice(start, end + 1)) : text.slice(start + 1, end)
}

/** Escapes are the platform's work; it accepts lone surrogates, so those are looked for afterwards. */
function unescaped(reader: Reader, start: number, quoted: string): string {
  let value: string
  try {
    value = JSON.parse(quoted)
  } catch {
    throw invalid({ ...reader, at: start }, 'an escape that does not exist')
  }
  if (!value.isWellFormed()) throw invalid({ ...reader, at: start }, 'a lone surrogate')
  return value
}

const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function readNumber(reader: Reader): number {
  numeral.lastIndex = reader.at
  const match = numeral.exec(reader.text)
  if (match === null) throw invalid(reader, 'a value was expected')
  const value = Number(match[0])
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    throw new Failure('number.unsafe', `a number beyond 2^53 − 1 at ${place(reader)}`, where(reader), 'send it as text')
  }
  reader.at += match[0].length
  return value
}

function readWord<T extends Json>(reader: Reader, word: string, value: T): T {
  if (!reader.text.startsWith(word, reader.at)) throw invalid(reader, 'a value was expected')
  reader.at += word.length
  return value
}

function skipBlanks(reader: Reader): void {
  for (; ; reader.at++) {
    const unit = reader.text.charCodeAt(reader.at)
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
  }
}

const invalid = (reader: Reader, what: string): Failure =>
  new Failure('json.invalid', `${what} at ${place(reader)}`, where(reader))

const place = (reader: Reader): string => {
  const { line, column } = where(reader)
  return `line ${line}, column ${column}`
}

function where({ text, at }: Reader): { line: number; column: number } {
  const before = text.slice(0, at)
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') }
}
