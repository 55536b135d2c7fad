import assert from 'node:assert/strict'
import { constants } from 'node:fs'
import { type FileHandle, link, lstat, mkdir, open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { tornMark } from '../base/lines.ts'
import { type Folder, hasPins, inFolder, outside, type Place } from './folder.ts'
import { locked } from './lock.ts'
import { reservedPrefix, segmentsOf } from './path.ts'
import { refusal, systemCode, telling } from './trouble.ts'

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

interface WriteOptions {
  /** The file's permissions, whatever the umask; 0600 unless said. */
  readonly mode?: number
  /** Fails with `file.exists` when there is such a file; of several such writers one wins. */
  readonly exclusive?: boolean
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
    return fileRoot({ real, pins: pins && hasPins() })
  })
}

/** The files of a folder that is there, or will be. */
export function fileRoot(place: Place): FileRoot {
  return Object.freeze<FileRoot>({
    read: (path, { bytesMax = limits.fileBytesMax } = {}) =>
      withFile(place, path, constants.O_RDONLY, async (handle) => {
        const { size } = await handle.stat()
        if (size <= bytesMax) return handle.readFile()
        throw new Failure('file.too_large', `${quote(path)} has ${size} bytes, at most ${bytesMax} are read`, { path })
      }),
    readEnd: (path, bytesMax) =>
      withFile(place, path, constants.O_RDONLY, async (handle) => {
        const { size } = await handle.stat()
        const length = Math.min(size, bytesMax)
        return (await handle.read(Buffer.alloc(length), 0, length, size - length)).buffer
      }),
    write: (path, bytes, options = {}) =>
      atEntry(place, path, async (folder, name) => {
        await modeOf(folder, name, path).catch((error: unknown) => {
          if (systemCode(error) !== 'ENOENT') throw error
        })
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

/** Works on the last segment of a path, in the folder that the others name. */
function atEntry<T>(place: Place, path: string, work: (folder: Folder, name: string) => Promise<T>): Promise<T> {
  return telling(path, () => {
    const segments = segmentsOf(path)
    return inFolder(place, segments.slice(0, -1), (folder) => work(folder, segments.at(-1) ?? ''))
  })
}

/** Works on an open regular file. */
function withFile<T>(
  place: Place,
  path: string,
  flags: number,
  work: (handle: FileHandle, folder: Folder) => Promise<T>,
): Promise<T> {
  return atEntry(place, path, async (folder, name) => {
    // Without O_NONBLOCK the opening of a pipe would wait for its other end.
    const handle = await open(folder.entry(name), flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600)
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) throw refusal('EISDIR', path)
      if (place.strict && stats.nlink > 1) throw outside(path, 'has a second name, which may lie outside')
      return await work(handle, folder)
    } finally {
      await handle.close()
    }
  })
}

/** The permission bits of a regular file; of a link, which is not followed, and of anything else: a refusal. */
async function modeOf(folder: Folder, name: string, path: string): Promise<number> {
  const found = await lstat(folder.entry(name))
  if (found.isSymbolicLink()) throw refusal('ELOOP', path)
  if (!found.isFile()) throw refusal('EISDIR', path)
  return found.mode & 0o777
}

/** Readers see the old content or the new, whole; when this returns the new one is on the disk. */
async function replace(folder: Folder, name: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
  const { handle, temp } = await openTemp(folder, name)
  try {
    await handle.chmod(options.mode ?? 0o600)
    await handle.writeFile(bytes)
    await handle.sync()
    await (options.exclusive ? link : rename)(temp, folder.entry(name))
  } catch (error) {
    await unlink(temp)
    throw error
  } finally {
    await handle.close()
  }
  if (options.exclusive) await unlink(temp)
  await folder.handle.sync()
}

/** The first free name: another writer, or one that was killed, may hold the ones before it. */
async function openTemp(folder: Folder, name: string): Promise<{ handle: FileHandle; temp: string }> {
  for (let number = 0; ; number++) {
    const temp = folder.entry(`${reservedPrefix}${number}-${name}`)
    try {
      const handle = await open(temp, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
      return { handle, temp }
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error
    }
  }
}

async function appendLine(handle: FileHandle, folder: Folder, line: string): Promise<void> {
  assert(!line.includes('\n'), 'a line has no line feed')
  const { size } = await handle.stat()
  const last = size === 0 ? undefined : (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0]
  const torn = last !== undefined && last !== 0x0a
  await handle.appendFile(`${torn ? `${tornMark}\n` : ''}${line}\n`)
  await handle.sync()
  if (size === 0) await folder.handle.sync()
}

async function namesIn(folder: Folder): Promise<readonly string[]> {
  const entries = await readdir(folder.entry('.'), { withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith(reservedPrefix))
    .map((entry) => entry.name)
    .sort()
}

function checkFolder(found: { isDirectory(): boolean; readonly mode: number }, mode: number | undefined): void {
  if (!found.isDirectory()) throw new Failure('file.invalid', 'the file root is not a folder')
  if (mode === undefined || (found.mode & 0o777 & ~mode) === 0) return
  const help = `run \`chmod ${mode.toString(8)}\` on the folder`
  throw new Failure('file.permissions', 'the folder of the file root is open to others', {}, help)
}

/** The folder, and every new one above it, is on the disk as an entry of its parent. */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const made = await mkdir(resolve(path), { recursive: true, mode })
  if (made === undefined) return
  const above = dirname(await realpath(made))
  for (let at = await realpath(path); at !== above; at = dirname(at)) {
    const handle = await open(dirname(at), constants.O_RDONLY | constants.O_DIRECTORY)
    await handle.sync().finally(() => handle.close())
  }
}
