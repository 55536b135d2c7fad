import { constants, existsSync } from 'node:fs'
import { mkdir, open, realpath, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { appendLine, atEntry, modeOf, namesIn, readAll, readTail, withFile } from './entry.ts'
import { inFolder, type Place } from './folder.ts'
import { locked } from './lock.ts'
import { reservedPrefix, segmentsOf } from './path.ts'
import { replace, type WriteOptions } from './replace.ts'
import { systemCode, telling } from './trouble.ts'

/**
 * Regular files below one folder. Paths are relative, with `/`; one that leaves the root, by its spelling or through a
 * link, fails with `file.outside_root`, and a link as the last segment always does. A failure names the relative path,
 * never the host's. Folders are not made on the way.
 */
export interface FileRoot {
  /** The whole content, at most `bytesMax`; fails with `file.not_found`. */
  read(path: string, options?: { readonly bytesMax?: number }): Promise<Buffer>
  /** The last bytes of it, at most `bytesMax`, however long it is. */
  readEnd(path: string, bytesMax: number): Promise<Buffer>
  /** Replaces or makes the file, atomically and durably. A crash at any moment leaves the old content or the new. */
  write(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<void>
  /** Adds one line, durably; makes the file (0600). A line torn by a crash stays a line of its own, marked as torn. */
  append(path: string, line: string): Promise<void>
  /** The names of the regular files in the root or a folder below it, sorted; what a crashed write left is not among them. */
  list(folder?: string): Promise<readonly string[]>
  remove(path: string): Promise<void>
  /** The permission bits of the file. */
  mode(path: string): Promise<number>
  /**
   * Does the work while no other process, and no other call, is inside `exclusive` of this root; waits, then fails with
   * `file.busy`. Not to be nested.
   */
  exclusive<T>(work: () => Promise<T>): Promise<T>
}

export interface RootOptions {
  /** Makes the folder, and those above it, when it is missing. */
  readonly create?: boolean
  /** Permissions for a folder made now; one that exists and allows more fails with `file.permissions`. */
  readonly mode?: number
  /** False does without the paths of open folders, as systems must that have none. */
  readonly pins?: boolean
}

export async function openRoot(path: string, options: RootOptions = {}): Promise<FileRoot> {
  const { create = false, mode, pins = true } = options
  return telling('.', async () => {
    if (create) await makeFolder(path, mode)
    const real = await realpath(path)
    checkFolder(await stat(real), mode)
    return fileRoot({ real, pins: pins && existsSync('/proc/self/fd') })
  })
}

function fileRoot(place: Place): FileRoot {
  return Object.freeze<FileRoot>({
    read: (path, { bytesMax = limits.fileBytesMax } = {}) =>
      withFile(place, path, constants.O_RDONLY, (handle) => readAll(handle, path, bytesMax)),
    readEnd: (path, bytesMax) => withFile(place, path, constants.O_RDONLY, (handle) => readTail(handle, bytesMax)),
    write: (path, bytes, options = {}) =>
      atEntry(place, path, async (folder, name) => {
        await modeOf(folder, name, path).catch(unlessMissing)
        await replace(folder, name, bytes, options)
      }),
    append: (path, line) =>
      withFile(place, path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, (handle, folder) =>
        appendLine(handle, folder, line),
      ),
    list: (path = '') => telling(path, async () => inFolder(place, path === '' ? [] : segmentsOf(path), namesIn)),
    remove: (path) =>
      atEntry(place, path, async (folder, name) => {
        await modeOf(folder, name, path)
        await unlink(folder.entry(name))
        await folder.handle.sync()
      }),
    mode: (path) => atEntry(place, path, (folder, name) => modeOf(folder, name, path)),
    exclusive: (work) => locked(join(place.real, `${reservedPrefix}lock`), work),
  })
}

function unlessMissing(error: unknown): void {
  if (systemCode(error) !== 'ENOENT') throw error
}

function checkFolder(found: { isDirectory(): boolean; readonly mode: number }, mode: number | undefined): void {
  if (!found.isDirectory()) throw new Failure('file.invalid', 'the file root is not a folder')
  if (mode === undefined || (found.mode & 0o777 & ~mode) === 0) return
  const help = `run \`chmod ${mode.toString(8)}\` on the folder`
  throw new Failure('file.permissions', 'the folder of the file root is open to others', {}, help)
}

/** The folder, and every new one above it, is on the disk as an entry of its parent. */
async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const made = await mkdir(resolve(path), { recursive: true, mode })
  if (made === undefined) return
  const above = dirname(await realpath(made))
  for (let at = await realpath(path); at !== above; at = dirname(at)) await syncFolder(dirname(at))
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await handle.sync().finally(() => handle.close())
}
