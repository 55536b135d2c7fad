import { constants, existsSync } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, quote } from '../base/failure.ts'

/** Where a file root lies on the host. */
export interface Place {
  /** Its real path. */
  readonly real: string
  /** Whether an open folder has a path of its own under `/proc/self/fd`. */
  readonly pins: boolean
  /** Refuses links to folders inside as well, and files with a second name: that may lie outside. */
  readonly strict?: boolean
}

/** Whether open files and folders have paths of their own on this system, which this process may use. */
export function hasPins(): boolean {
  try {
    return existsSync('/proc/self/fd')
  } catch {
    return false
  }
}

/** A folder held open while something is done in it. */
export interface Folder {
  readonly handle: FileHandle
  /** The host's path of an entry: for system calls, never for people. */
  entry(name: string): string
}

/** Works in a folder inside the root, if possible through its open handle: a link put in its place is not followed. */
export async function inFolder<T>(place: Place, segments: readonly string[], work: (folder: Folder) => Promise<T>) {
  const location = join(place.real, ...segments)
  const handle = await open(location, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    const held = place.pins ? `/proc/self/fd/${handle.fd}` : location
    const real = place.pins ? await readlink(held) : await realpath(held)
    const isInside = place.strict ? real === location : `${real}/`.startsWith(`${place.real}/`)
    if (!isInside) throw outside(segments.join('/'), 'leads out of the file root')
    return await work({ handle, entry: (name) => `${held}/${name}` })
  } finally {
    await handle.close()
  }
}

export const outside = (path: string, what: string): Failure =>
  new Failure('file.outside_root', `${quote(path)} ${what}`, { path })
