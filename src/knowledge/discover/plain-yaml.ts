import type { Json } from '../../base/canonical.ts'
import { scalarOf } from './scalar.ts'

/**
 * Reads the YAML that nearly all packs are written in: `key: value` on one line each, maps by indentation, lists of
 * values. Undefined for everything else, however harmless, so that the full parser decides.
 */
export function readPlain(text: string): { readonly [key: string]: Json } | undefined {
  if (unusual.test(text)) return undefined
  const written = text.split('\n')
  if (written.length > linesMax) return undefined
  const lines = written.flatMap(toLine)
  const reader: Reader = { lines, at: 0 }
  const map = lines[0]?.indent === 0 ? readMap(reader, 0) : undefined
  return reader.at === lines.length ? map : undefined
}

// With so few lines no limit of the full parser can be reached but depth, which has its own.
const linesMax = 200
const depthMax = 4

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among what is unusual
const unusual = /[\0-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]|\p{Surrogate}/u

interface Line {
  readonly indent: number
  readonly text: string
}

interface Reader {
  readonly lines: readonly Line[]
  at: number
}

// Only blanks count: other spaces are part of a value.
function toLine(written: string): Line[] {
  let [start, end] = [0, written.length]
  while (written[start] === ' ') start++
  while (end > start && written[end - 1] === ' ') end--
  return start === end || written[start] === '#' ? [] : [{ indent: start, text: written.slice(start, end) }]
}

function readMap(reader: Reader, indent: number, depth = 1): { readonly [key: string]: Json } | undefined {
  const entries = new Map<string, Json>()
  for (let line = reader.lines[reader.at]; line?.indent === indent; line = reader.lines[reader.at]) {
    const [, key, written] = member.exec(line.text) ?? []
    if (key === undefined || entries.has(key)) return undefined
    reader.at++
    const value = written === undefined ? readBelow(reader, indent, depth) : readValue(written)
    if (value === undefined) return undefined
    entries.set(key, value)
  }
  return Object.fromEntries(entries)
}

const member = /^([A-Za-z_][\w-]*):(?: +(.+))?$/

/** What stands indented below a key without a value: a map, a list, or nothing. */
function readBelow(reader: Reader, indent: number, depth: number): Json | undefined {
  const next = reader.lines[reader.at]
  if (next === undefined || next.indent < indent) return null
  if (next.text.startsWith('-')) return next.indent > indent ? readList(reader, next.indent) : undefined
  if (next.indent === indent) return null
  return depth < depthMax ? readMap(reader, next.indent, depth + 1) : undefined
}

function readList(reader: Reader, indent: number): Json | undefined {
  const items: Json[] = []
  for (let line = reader.lines[reader.at]; line?.indent === indent; line = reader.lines[reader.at]) {
    const [, written] = item.exec(line.text) ?? []
    const value = written === undefined ? undefined : readValue(written)
    if (value === undefined) return undefined
    items.push(value)
    reader.at++
  }
  return items
}

const item = /^- +(.+)$/

/** A scalar on one line: plain, or in quotes with nothing to unescape. */
function readValue(written: string): Json | undefined {
  const [, double, single] = quoted.exec(written) ?? []
  if (double !== undefined || single !== undefined) return double ?? single
  return plain.test(written) && !/: |:$| #/.test(written) ? scalarOf(written) : undefined
}

const quoted = /^(?:"([^"\\]*)"|'([^']*)')$/
const plain = /^[^\s\-?:,[\]{}#&*!|>'"%@`]/
