import { hostPath, placeOf, realPathIn, stampAt, withOpen } from '../../files/contained.ts'
import type { Place } from '../../files/folder.ts'
import { segmentsOf } from '../../files/path.ts'
import { type Diagnostic, diagnostic } from '../../knowledge/diagnostic.ts'
import { entryName } from '../../knowledge/discover/header.ts'
import { attempt } from './attempt.ts'
import { listFiles, type PackFile } from './list-files.ts'
import { digestFile, fileAt, readText, readTextRange } from './read-text.ts'
import type { RootOptions } from './roots.ts'

/**
 * The files of one pack, by their paths from the pack root. Nothing outside it is read, no link is followed, and only
 * regular files are opened: no Skill, script or program, and nothing of a pack inside the pack.
 */
export interface PackFiles {
  /** Sorted by path. What is left out is told. */
  list(): Promise<{ readonly files: readonly PackFile[]; readonly diagnostics: readonly Diagnostic[] }>
  /** One file of the list, without asking for the others. */
  find(path: string): PackFile | undefined
  /** The whole text, without a byte order mark; or why there is none. */
  read(path: string): Promise<{ readonly text: string } | Diagnostic>
  /** SHA-256 of its bytes, in hex, whether or not they are text. */
  digest(path: string): Promise<string | Diagnostic>
  /** The bytes from `from` up to `to` of the text as `read` gives it, in UTF-8. */
  readRange(path: string, from: number, to: number): Promise<string | Diagnostic>
}

export async function openPackFiles(
  root: RootOptions,
  pack: { readonly id: string; readonly path: string },
): Promise<PackFiles> {
  const place = openPack(root, pack.path)
  if (place === undefined) return closed(pack.id)
  return Object.freeze<PackFiles>({
    list: () => listFiles(place, pack.id),
    find: (path) => fileAt(place, path),
    read: async (path) => readText(place, pack.id, path),
    digest: async (path) => digestFile(place, pack.id, path),
    readRange: async (path, from, to) => readTextRange(place, pack.id, path, { from, to }),
  })
}

/** A pack that is not there, or not below its root: every question is answered with that. */
function closed(pack: string): PackFiles {
  const found = diagnostic('path-escape', '', 'the pack is not there, or not below its root', { pack })
  return {
    list: async () => ({ files: [], diagnostics: [found] }),
    find: () => undefined,
    read: async () => found,
    digest: async () => found,
    readRange: async () => found,
  }
}

/** The folder of a pack below its root, which from then on is the border of everything. */
function openPack(root: RootOptions, path: string): Place | undefined {
  return attempt(() => {
    const place = placeOf(root.path)
    const inside = path === '' ? '' : insideOf(place, root, path)
    if (inside === undefined) return undefined
    // Opening it asks where it really is, so that no link on the way goes unseen.
    const pack = withOpen(place, inside, 'folder', () => ({ ...place, real: hostPath(place, inside) }))
    return stampAt(pack, entryName, 'file') === undefined ? undefined : pack
  })
}

function insideOf(place: Place, { links }: RootOptions, path: string): string | undefined {
  const straight = segmentsOf(path).join('/')
  return links === 'within-root' ? realPathIn(place, hostPath(place, straight)) : straight
}
