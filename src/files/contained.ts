import type { Stats } from 'node:fs'
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs'
import { limits } from '../base/limits.ts'
import { hasPins, outside, type Place } from './folder.ts'
import { refusal } from './trouble.ts'

// Synchronous on purpose: a scan makes tens of thousands of short calls, and a promise for each costs more than the call.
// A caller that makes many yields to the event loop in between.

/** What tells a file, or a folder, from another one and from itself at another time. */
export interface Stamp {
  readonly device: number
  readonly inode: number
  readonly bytes: number
  readonly modifiedMs: number
  readonly changedMs: number
}

export const stampOf = (stats: Stats): Stamp => ({
  device: stats.dev,
  inode: stats.ino,
  bytes: stats.size,
  modifiedMs: stats.mtimeMs,
  changedMs: stats.ctimeMs,
})

export const sameStamp = (left: Stamp, right: Stamp): boolean =>
  left.changedMs === right.changedMs &&
  left.modifiedMs === right.modifiedMs &&
  left.bytes === right.bytes &&
  left.inode === right.inode &&
  left.device === right.device

/** Tells a file from every other that is there at the same time. */
export const fileIdOf = ({ device, inode }: Stamp): string => `${device}:${inode}`

/** The stamp of the file or folder at a path, not of what a link there leads to; undefined where there is none. */
export function stampAt(place: Place, path: string, kind: 'folder' | 'file'): Stamp | undefined {
  try {
    const stats = lstatSync(hostPath(place, path), { throwIfNoEntry: false })
    const fits = kind === 'folder' ? stats?.isDirectory() : stats?.isFile()
    return stats !== undefined && fits ? stampOf(stats) : undefined
  } catch {
    return undefined
  }
}

/** Something read at a time, from a file or folder as it was then. */
export interface Kept {
  readonly stamp: Stamp
  readonly readMs: number
}

/** Whether what was read then is what one would read now. */
export function isCurrent(place: Place, path: string, kind: 'folder' | 'file', { stamp, readMs }: Kept): boolean {
  // What was changed so shortly before it was read may change again within the same timestamp.
  if (Math.max(stamp.modifiedMs, stamp.changedMs) > readMs - limits.knowledgeSettledMs) return false
  const now = stampAt(place, path, kind)
  return now !== undefined && sameStamp(now, stamp)
}

/** Where a folder really lies; fails with `file.not_found` and the like. */
export function placeOf(path: string, { pins = true } = {}): Place {
  const real = realpathSync.native(path)
  if (!lstatSync(real).isDirectory()) throw refusal('ENOTDIR', '.')
  return { real, pins: pins && hasPins() }
}

/** The host's path of what lies below a place: for system calls, never for people. */
export const hostPath = (place: Place, path: string): string => {
  const top = place.real === '/' ? '' : place.real
  return path === '' ? place.real : `${top}/${path}`
}

/** The path from the place to where the host's path really leads, links resolved; undefined where that is outside. */
export function realPathIn(place: Place, host: string): string | undefined {
  const real = realpathSync.native(host)
  if (real === place.real) return ''
  const top = hostPath(place, '-').slice(0, -1)
  return real.startsWith(top) ? real.slice(top.length) : undefined
}

/**
 * Works on a folder or file that lies at exactly this path below the place, with no link on the way: what was opened is
 * asked where it is, so nothing can be put in its place between the check and the work. `path` has passed `segmentsOf`,
 * or comes from a listing.
 */
export function withOpen<T>(place: Place, path: string, kind: 'folder' | 'file', work: (open: Opened) => T): T {
  const at = hostPath(place, path)
  const descriptor = openSync(at, kind === 'folder' ? folderFlags : fileFlags)
  try {
    const held = `/proc/self/fd/${descriptor}`
    const real = place.pins ? readlinkSync(held) : realpathSync.native(at)
    const stats = fstatSync(descriptor)
    if (real !== at || !(place.pins || isSame(stats, lstatSync(at))))
      throw outside(path, 'leads out of the file root, or through a link')
    if (!(kind === 'folder' ? stats.isDirectory() : stats.isFile())) throw refusal('EISDIR', path)
    return work({ descriptor, stats, host: place.pins ? held : at })
  } finally {
    closeSync(descriptor)
  }
}

export interface Opened {
  readonly descriptor: number
  readonly stats: Stats
  /** A path of what is open, for the calls that take only paths. */
  readonly host: string
}

// Without O_NONBLOCK the opening of a pipe would wait for its other end.
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const folderFlags = fileFlags | constants.O_DIRECTORY

const isSame = (left: Stats, right: Stats): boolean => left.ino === right.ino && left.dev === right.dev

/** Bytes of an open file from `from` up to `to`, or up to its end. */
export function readBytes(descriptor: number, from: number, to: number): Buffer {
  const buffer = Buffer.allocUnsafe(to - from)
  let filled = 0
  while (filled < buffer.length) {
    const count = readSync(descriptor, buffer, filled, buffer.length - filled, from + filled)
    if (count === 0) break
    filled += count
  }
  return buffer.subarray(0, filled)
}
