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
  const isLong = bytes.length >= limits.knowledgeFrontmatterBytesMax
  const head = bytes.subarray(0, limits.knowledgeFrontmatterBytesMax)
  const { opened, closed } = marksIn(head, isLong)
  if (opened === undefined) return without(head)
  if (closed === undefined)
    return isLong
      ? { trouble: 'frontmatter-limit', why: `the frontmatter does not end within ${head.length} bytes` }
      : { trouble: 'frontmatter-missing', why: 'the frontmatter is never closed with `---`' }
  const inside = head.subarray(opened, closed)
  const text = decode(inside)
  if (text === undefined) return { trouble: 'encoding', why: 'the frontmatter is not UTF-8, or holds NUL' }
  return { text: text.replace(/\r\n?/g, '\n'), digest: sha256(inside) }
}

/** What stands behind the frontmatter of an entry file; nothing where there is none. */
export function bodyOf(text: string): string {
  const bytes = Buffer.from(text)
  const { closed } = marksIn(bytes, false)
  return closed === undefined ? '' : bytes.toString('utf8', closed).replace(/^---[ \t]*(?:\r\n|\r|\n|$)/, '')
}

export interface Trouble {
  readonly trouble: DiagnosticCode
  readonly why: string
}

/** Whether more bytes of the file could change what `cutFrontmatter` says. */
export function isCut(head: Uint8Array): boolean {
  const { opened, closed } = marksIn(head, true)
  return opened === undefined ? /^(?:\xef\xbb\xbf)?---[ \t]*$/.test(unitsOf(head)) : closed === undefined
}

/** A text with one character for each byte, so that places in it are places in the bytes. */
const unitsOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')

/**
 * Where the text between the two marks begins, behind a byte order mark, and where the line that closes it begins. Where
 * the file goes on, its last line here may be half a line.
 */
function marksIn(head: Uint8Array, goesOn: boolean): { readonly opened?: number; readonly closed?: number } {
  const units = unitsOf(head)
  const opened = /^(?:\xef\xbb\xbf)?---[ \t]*(?:\r\n|\r|\n)/.exec(units)?.[0].length
  if (opened === undefined) return {}
  const mark = /^---[ \t]*$/gm
  mark.lastIndex = opened
  const found = mark.exec(units)
  if (found === null || (goesOn && mark.lastIndex === units.length)) return { opened }
  return { opened, closed: found.index }
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
