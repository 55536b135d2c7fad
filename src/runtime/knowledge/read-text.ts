import { lstatSync } from 'node:fs'
import { posix } from 'node:path'
import { Failure } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { hostPath, type Opened, readBytes, sameStamp, stampAt, stampOf, withOpen } from '../../files/contained.ts'
import type { Place } from '../../files/folder.ts'
import { segmentsOf } from '../../files/path.ts'
import { type Diagnostic, type DiagnosticCode, diagnostic } from '../../knowledge/diagnostic.ts'
import { entryName } from '../../knowledge/discover/header.ts'
import { attempt } from './attempt.ts'
import { fileOf, leftOut, type PackFile } from './list-files.ts'

/** The whole text of a file of a pack. */
export const readText = (place: Place, pack: string, path: string): { readonly text: string } | Diagnostic =>
  reading(place, pack, path, (file) => {
    const bytes = allOf(file)
    return { text: decode(bytes.subarray(markBytes(bytes))) }
  })

export const digestFile = (place: Place, pack: string, path: string): string | Diagnostic =>
  reading(place, pack, path, (file) => sha256(allOf(file)))

function allOf({ descriptor, stats }: Opened): Buffer {
  const bytes = readBytes(descriptor, 0, stats.size)
  if (bytes.length < stats.size) throw new Changed()
  return bytes
}

/** Part of it. */
export const readTextRange = (
  place: Place,
  pack: string,
  path: string,
  range: { readonly from: number; readonly to: number },
): string | Diagnostic =>
  reading(place, pack, path, ({ descriptor, stats }) => {
    const mark = markBytes(readBytes(descriptor, 0, byteOrderMark.length))
    const [from, to] = [range.from + mark, range.to + mark]
    if (!(range.from >= 0 && from <= to && to <= stats.size)) throw new Changed()
    return decode(readBytes(descriptor, from, to))
  })

/** A file as it lies there, unopened; undefined where it is not there or cannot be part of the pack. */
export function fileAt(place: Place, path: string): PackFile | undefined {
  const stamp = attempt(() => stampAt(place, insideOf(place, path), 'file'))
  return stamp && fileOf(path, stamp)
}

/** The file is not what it was, or what somebody thinks it is. */
class Changed extends Error {}

class Refused extends Error {
  readonly code: DiagnosticCode
  constructor(code: DiagnosticCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Reads from a file that stays the same meanwhile; one that does not is tried once more. */
function reading<T>(place: Place, pack: string, path: string, work: (file: Opened) => T): T | Diagnostic {
  try {
    const inside = insideOf(place, path)
    try {
      return readSteady(place, inside, work)
    } catch (error) {
      if (!(error instanceof Changed)) throw error
      return readSteady(place, inside, work)
    }
  } catch (error) {
    return diagnostic(...trouble(path, error), { pack })
  }
}

/** The path from the pack root, normalised; refused where it leads out, or into what is not part of the pack. */
function insideOf(place: Place, path: string): string {
  if (path.startsWith('/')) throw new Refused('path-escape', 'it is absolute')
  const segments = segmentsOf(posix.normalize(path))
  for (let depth = 1; depth < segments.length; depth++) checkFolder(place, segments.slice(0, depth).join('/'))
  return segments.join('/')
}

/** From the top down, so that not even the names behind a link are asked for. */
function checkFolder(place: Place, folder: string): void {
  const stats = lstatSync(hostPath(place, folder), { throwIfNoEntry: false })
  if (stats === undefined) throw new Refused('file-changed', 'it is not there')
  if (stats.isSymbolicLink()) throw new Refused('path-escape', 'it leads through a link')
  if (stampAt(place, `${folder}/${entryName}`, 'file') !== undefined)
    throw new Refused('nested-pack', 'it belongs to a pack inside the pack')
}

function readSteady<T>(place: Place, path: string, work: (file: Opened) => T): T {
  const before = lstatSync(hostPath(place, path))
  if (before.isSymbolicLink()) throw new Refused('path-escape', 'it is a link, and links are not followed')
  if (!before.isFile()) throw new Refused('foreign-file', 'it is not a regular file')
  const why = leftOut(path, before)
  if (why !== undefined) throw new Refused(...why)
  return withOpen(place, path, 'file', (file) => {
    if (!sameStamp(stampOf(before), stampOf(file.stats))) throw new Changed()
    const result = work(file)
    const after = stampAt(place, path, 'file')
    if (after === undefined || !sameStamp(stampOf(before), after)) throw new Changed()
    return result
  })
}

function trouble(path: string, error: unknown): [DiagnosticCode, string, string] {
  if (error instanceof Refused) return [error.code, path, error.message]
  if (error instanceof Failure) return ['path-escape', path, 'it leads out of the pack, or through a link']
  if (error instanceof Changed) return ['file-changed', path, 'it changed while it was read']
  const { code = 'unknown' } = error as { readonly code?: string }
  if (code === 'ELOOP') return ['path-escape', path, 'it leads through a link']
  return ['file-changed', path, `it is not there, or cannot be read (${code})`]
}

const byteOrderMark = [0xef, 0xbb, 0xbf]

const markBytes = (bytes: Uint8Array): number =>
  byteOrderMark.every((byte, at) => bytes[at] === byte) ? byteOrderMark.length : 0

function decode(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {
    // Told below, as NUL is.
  }
  throw new Refused('encoding', 'it is not UTF-8, or holds NUL')
}
