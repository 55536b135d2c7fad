import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { DiagnosticCode } from '../diagnostic.ts'

export interface Frontmatter {
  /** Between the two marks, every line ended by a line feed. */
  readonly text: string
  /** SHA-256 of the same bytes as they are written, in hex. */
  readonly digest: string
}

/** The frontmatter at the head of an entry file, or why there is none. Nothing behind it is looked at. */
export function cutFrontmatter(bytes: Uint8Array): Frontmatter | Trouble {
  const head = bytes.subarray(0, limits.knowledgeFrontmatterBytesMax)
  const opened = opensAt(head)
  if (opened === undefined) return without(head)
  const closed = closesAt(head, opened, bytes.length >= limits.knowledgeFrontmatterBytesMax)
  if (closed === undefined) return unclosed(head, bytes.length)
  const inside = head.subarray(opened, closed)
  const text = decode(inside)
  if (text === undefined) return { trouble: 'encoding', why: 'the frontmatter is not UTF-8, or holds NUL' }
  return { text: text.replace(/\r\n?/g, '\n'), digest: sha256(inside) }
}

/** What stands behind the frontmatter of an entry file; nothing where there is none. */
export function bodyOf(text: string): string {
  const bytes = new TextEncoder().encode(text)
  const opened = opensAt(bytes)
  const closed = opened === undefined ? undefined : closesAt(bytes, opened, false)
  if (closed === undefined) return ''
  return new TextDecoder().decode(bytes.subarray(closed)).replace(/^---[ \t]*(?:\r\n|\r|\n|$)/, '')
}

export interface Trouble {
  readonly trouble: DiagnosticCode
  readonly why: string
}

/** Whether more bytes of the file could change what `cutFrontmatter` says. */
export function isCut(head: Uint8Array): boolean {
  const opened = opensAt(head)
  if (opened === undefined) return isMark(head, startOf(head), head.length)
  return closesAt(head, opened, true) === undefined
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const byteOrderMark = [0xef, 0xbb, 0xbf]

const startOf = (head: Uint8Array): number =>
  byteOrderMark.every((byte, at) => head[at] === byte) ? byteOrderMark.length : 0

function opensAt(head: Uint8Array): number | undefined {
  const start = startOf(head)
  const end = lineEnd(head, start)
  return isMark(head, start, end) && end < head.length ? nextLine(head, end) : undefined
}

/** Where the line that closes the frontmatter begins. Where the file goes on, its last line here may be half a line. */
function closesAt(head: Uint8Array, opened: number, goesOn: boolean): number | undefined {
  for (let start = opened; start < head.length; ) {
    const end = lineEnd(head, start)
    if (isMark(head, start, end) && !(goesOn && end === head.length)) return start
    start = nextLine(head, end)
  }
  return undefined
}

/** Three hyphens, with nothing but blanks behind them. */
function isMark(head: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < start + 3; at++) if (head[at] !== 0x2d) return false
  for (let at = start + 3; at < end; at++) if (head[at] !== 0x20 && head[at] !== 0x09) return false
  return true
}

function lineEnd(head: Uint8Array, start: number): number {
  let at = start
  while (at < head.length && head[at] !== lineFeed && head[at] !== carriageReturn) at++
  return at
}

const nextLine = (head: Uint8Array, end: number): number =>
  head[end] === carriageReturn && head[end + 1] === lineFeed ? end + 2 : end + 1

function unclosed(head: Uint8Array, size: number): Trouble {
  if (size >= limits.knowledgeFrontmatterBytesMax)
    return { trouble: 'frontmatter-limit', why: `the frontmatter does not end within ${head.length} bytes` }
  return { trouble: 'frontmatter-missing', why: 'the frontmatter is never closed with `---`' }
}

// The answer must not depend on how much of the file was read, so only its very beginning decides.
const sniffedBytes = 512

function without(head: Uint8Array): Trouble {
  if (decode(head.subarray(0, sniffedBytes), true) === undefined)
    return { trouble: 'encoding', why: 'the file is not UTF-8, or holds NUL' }
  return { trouble: 'frontmatter-missing', why: 'the first line is not `---`' }
}

/** UTF-8 without NUL, or undefined. A part may end inside a character. */
function decode(bytes: Uint8Array, part = false): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: part })
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}
