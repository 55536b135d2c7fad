import assert from 'node:assert/strict'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises'
import { Failure, quote } from '../base/failure.ts'
import { tornMark } from '../base/lines.ts'
import { type Folder, inFolder, type Place } from './folder.ts'
import { reservedPrefix, segmentsOf } from './path.ts'
import { refusal, telling } from './trouble.ts'

/** Works on the last segment of a path, in the folder that the others name. */
export function atEntry<T>(place: Place, path: string, work: (folder: Folder, name: string) => Promise<T>): Promise<T> {
  return telling(path, () => {
    const segments = segmentsOf(path)
    const name = segments[segments.length - 1] ?? ''
    return inFolder(place, segments.slice(0, -1), (folder) => work(folder, name))
  })
}

/** Works on an open regular file. */
export function withFile<T>(
  place: Place,
  path: string,
  flags: number,
  work: (handle: FileHandle, folder: Folder) => Promise<T>,
): Promise<T> {
  return atEntry(place, path, async (folder, name) => {
    // Without O_NONBLOCK the opening of a pipe would wait for its other end.
    const handle = await open(folder.entry(name), flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600)
    try {
      if (!(await handle.stat()).isFile()) throw refusal('EISDIR', path)
      return await work(handle, folder)
    } finally {
      await handle.close()
    }
  })
}

/** The permission bits of a regular file; of a link, which is not followed, and of anything else: a refusal. */
export async function modeOf(folder: Folder, name: string, path: string): Promise<number> {
  const found = await lstat(folder.entry(name))
  if (found.isSymbolicLink()) throw refusal('ELOOP', path)
  if (!found.isFile()) throw refusal('EISDIR', path)
  return found.mode & 0o777
}

export async function readAll(handle: FileHandle, path: string, bytesMax: number): Promise<Buffer> {
  const { size } = await handle.stat()
  if (size > bytesMax) {
    throw new Failure('file.too_large', `${quote(path)} has ${size} bytes, at most ${bytesMax} are read`, { path })
  }
  return handle.readFile()
}

/** The last bytes of a file that only grows. */
export async function readTail(handle: FileHandle, bytesMax: number): Promise<Buffer> {
  const { size } = await handle.stat()
  const length = Math.min(size, bytesMax)
  return (await handle.read(Buffer.alloc(length), 0, length, size - length)).buffer
}

export async function appendLine(handle: FileHandle, folder: Folder, line: string): Promise<void> {
  assert(!line.includes('\n'), 'a line has no line feed')
  const { size } = await handle.stat()
  const last = size === 0 ? undefined : (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0]
  const torn = last !== undefined && last !== 0x0a
  await handle.appendFile(`${torn ? `${tornMark}\n` : ''}${line}\n`)
  await handle.sync()
  if (size === 0) await folder.handle.sync()
}

export async function namesIn(folder: Folder): Promise<readonly string[]> {
  const entries = await readdir(folder.entry('.'), { withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith(reservedPrefix))
    .map((entry) => entry.name)
    .sort()
}
