import { lstatSync } from 'node:fs'
import { mkdir, readdir, rmdir, unlink } from 'node:fs/promises'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { hostPath, stampAt } from './contained.ts'
import { inFolder, type Place } from './folder.ts'
import { isSegment, segmentsOf } from './path.ts'
import { type FileRoot, fileRoot, makeFolder } from './root.ts'
import { refusal, telling, unlessMissing } from './trouble.ts'
import { type Walked, walkFolders } from './walk.ts'

export interface TreeEntry {
  /** From the top of the tree. */
  readonly path: string
  readonly kind: 'file' | 'folder'
}

export type FileTree = ReturnType<typeof fileTree>

/**
 * Files in folders below one folder, which is made with the first file. Paths are those of a file root. No link is
 * followed, wherever it stands, and a file with a second name is refused: both could lead outside. `at.real` is a real
 * path, except that its last segment may be missing.
 */
export function fileTree(at: Place) {
  const place = { ...at, strict: true }
  const root = fileRoot(place)
  return Object.freeze({
    read: (path: string, options?: Parameters<FileRoot['read']>[1]) =>
      telling(path, () => {
        segmentsIn(place, path)
        return root.read(path, options)
      }),
    /** Files and folders below a folder, down to `depthMax` levels; fails with `file.too_large` where there are too many. */
    list: (folder: string, depthMax: number) => telling(folder, () => listBelow(place, folder, depthMax)),
    /** Undefined where there is none of this kind. */
    stat: (path: string, kind: TreeEntry['kind']) =>
      telling(path, async () => stampAt(place, segmentsIn(place, path).join('/'), kind)),
    /**
     * Writes what `decide` answers of the present content, which is undefined where there is no file, or removes the file
     * where it answers undefined. In between no process of ours changes the tree. A crash leaves the old content or the new.
     * Folders are made on the way. Answers what was there before.
     */
    change: (path: string, decide: (now: Buffer | undefined) => Uint8Array | undefined) =>
      telling(path, async () => {
        const folders = segmentsIn(place, path).slice(0, -1)
        await makeFolder(place.real, 0o700)
        // The lock is opened by its path: first of all its folder has to be a real one.
        await inFolder(place, [], async () => undefined)
        return root.exclusive(async () => {
          const before = await root.read(path).catch(unlessMissing)
          const after = decide(before)
          if (after !== undefined) await makeFolders(place, folders)
          await (after === undefined ? root.remove(path) : root.write(path, after))
          return before
        })
      }),
    /** Removes all that lies in a folder, and below it if `recursive`; answers how many files. */
    clear: (folder: string, recursive: boolean) =>
      telling(folder, () => {
        const segments = segmentsIn(place, folder)
        return inFolder(place, segments, () => root.exclusive(() => clearFolder(place, segments, recursive)))
      }),
  })
}

/** The segments of a path on which no link stands: not even the names behind one are asked for. */
function segmentsIn(place: Place, path: string): readonly string[] {
  const segments = segmentsOf(path)
  for (let depth = 0; depth <= segments.length; depth++) {
    const at = hostPath(place, segments.slice(0, depth).join('/'))
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) throw refusal('ELOOP', path)
  }
  return segments
}

async function listBelow(place: Place, folder: string, depthMax: number): Promise<readonly TreeEntry[]> {
  const top = segmentsIn(place, folder).join('/')
  const found: TreeEntry[] = []
  const into = ({ path, entries }: Walked) => {
    const above = path === '' ? top : `${top}/${path}`
    const usable = entries.filter(({ name, kind }) => (kind === 'file' || kind === 'folder') && isSegment(name))
    for (const { name, kind } of usable) found.push({ path: `${above}/${name}`, kind: kind as TreeEntry['kind'] })
    if (found.length > limits.fileEntriesMax) throw tooMany(folder)
    return usable.filter(({ kind }) => kind === 'folder')
  }
  const below = { ...place, real: hostPath(place, top) }
  const bounds = { depthMax: depthMax - 1, foldersMax: limits.fileFoldersMax }
  const end = await walkFolders(below, { ...bounds, into })
  const why = end.unreadable.find(({ path }) => path === '')?.why
  if (why !== undefined) throw refusal(why, folder)
  if (end.tooMany > 0) throw tooMany(folder)
  return found
}

const tooMany = (path: string): Failure =>
  new Failure('file.too_large', `${quote(path)} holds more than can be listed`, { path }, 'name a folder inside it')

/** Each is on the disk as an entry of the one above before the next is made. */
async function makeFolders(place: Place, segments: readonly string[]): Promise<void> {
  for (const [depth, name] of segments.entries())
    await inFolder(place, segments.slice(0, depth), async ({ handle, entry }) => {
      await mkdir(entry(name), 0o700).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      await handle.sync()
    })
}

/** Leftovers of crashed writes go as well: they have content. */
function clearFolder(place: Place, segments: readonly string[], recursive: boolean): Promise<number> {
  return inFolder(place, segments, async ({ handle, entry }) => {
    let count = 0
    for (const one of await readdir(entry('.'), { withFileTypes: true })) {
      if (!one.isDirectory()) {
        await unlink(entry(one.name))
        count++
      } else if (recursive) {
        count += await clearFolder(place, [...segments, one.name], true)
        await rmdir(entry(one.name))
      }
    }
    await handle.sync()
    return count
  })
}
