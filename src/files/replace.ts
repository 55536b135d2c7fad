import { constants } from 'node:fs'
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises'
import type { Folder } from './folder.ts'
import { reservedPrefix } from './path.ts'
import { systemCode } from './trouble.ts'

export interface WriteOptions {
  /** The file's permissions, whatever the umask; 0600 unless said. */
  readonly mode?: number
  /** Fails with `file.exists` when there is such a file; of several such writers one wins. */
  readonly exclusive?: boolean
}

/** Readers see the old content or the new, whole; when this returns the new one is on the disk. */
export async function replace(folder: Folder, name: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
  const temp = await writeTemp(folder, name, bytes, options.mode ?? 0o600)
  const target = folder.entry(name)
  if (options.exclusive) await link(temp, target).finally(() => unlink(temp))
  else await rename(temp, target).catch((error: unknown) => discard(temp, error))
  await folder.handle.sync()
}

async function writeTemp(folder: Folder, name: string, bytes: Uint8Array, mode: number): Promise<string> {
  const { handle, temp } = await openTemp(folder, name)
  try {
    await handle.chmod(mode)
    await handle.writeFile(bytes)
    await handle.sync()
  } catch (error) {
    await discard(temp, error)
  } finally {
    await handle.close()
  }
  return temp
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

async function discard(temp: string, error: unknown): Promise<never> {
  await unlink(temp)
  throw error
}
