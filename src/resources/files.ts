import { z } from 'zod'
import { byUnit } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import { placeOf } from '../files/contained.ts'
import type { Place } from '../files/folder.ts'
import { openRoot } from '../files/root.ts'
import { type FileTree, fileTree, type TreeEntry } from '../files/tree.ts'
import { telling, unlessMissing } from '../files/trouble.ts'
import { type Run, tool } from './answer.ts'
import { defineProvider, type Provider } from './define.ts'
import { bytesOf, linesWith, showBytes } from './file-content.ts'
import { encodeName, fileSpot, folderSpots, pathBelow, type Spot, scopeFolder } from './file-paths.ts'
import type { ResourceToolContext } from './provider.ts'

const path = z.string().max(limits.filePathCharsMax).describe('A path such as `notes/today.md`.')
const folder = path.optional().describe('A folder; all there is unless said otherwise.')
const ifHash = z.string().max(64).optional()

const input = {
  list: z.strictObject({
    path: folder,
    depth: z.int().min(1).max(5).optional().describe('How many levels of folders; 1 unless said otherwise.'),
    limit: z.int().min(1).max(500).optional().describe('How many at most; 200 unless said otherwise.'),
    cursor: path.optional().describe('`nextCursor` of the page before.'),
  }),
  read: z.strictObject({
    path,
    offset: z.int().min(0).optional().describe('The byte to begin at.'),
    length: z.int().min(1).max(limits.fileReadBytesMax).optional().describe('How many bytes at most.'),
  }),
  search: z.strictObject({
    query: z.string().min(1).max(256).describe('What a line must contain, in small or capital letters.'),
    path: folder,
    limit: z.int().min(1).max(200).optional().describe('How many at most; 50 unless said otherwise.'),
  }),
  write: z.strictObject({
    path,
    content: z.string().max(limits.jsonBytesMax),
    encoding: z.enum(['utf8', 'base64']).optional(),
    ifHash: ifHash.describe('Only if the file has this hash now; `absent`: only if there is none.'),
  }),
  delete: z.strictObject({ path, ifHash: ifHash.describe('Only if the file has this hash now.') }),
}

type Input<Tool extends keyof typeof input> = z.infer<(typeof input)[Tool]>

/** Files below `<root>/<tenant>/<grant>`. The root is given by trusted code, never by a manifest. */
export function files({ root }: { readonly root: string }): Provider {
  let place: Place | undefined
  const treeFor = (tenantId: string): FileTree => {
    // Once it is known where the root lies, a link that is put in its place leads nowhere.
    place ??= placeOf(root)
    return fileTree({ ...place, real: `${place.real}/${encodeName(tenantId)}` })
  }
  const inTree =
    <In extends { readonly path?: string | undefined }>(run: Run<In, Files>): Run<In> =>
    (given, context) =>
      naming(given.path ?? '', async () => run(given, { ...context, tree: treeFor(context.run.tenantId) }))
  const writing = { mode: 'read-write', effects: ['files.write'] } as const
  return defineProvider({
    kind: 'files',
    maxMode: 'read-write',
    reads: ['at', 'down'],
    writes: ['at', 'down'],
    tools: {
      list: tool('Lists files and folders.', input.list, inTree(list)),
      read: tool('Reads a file, or part of it.', input.read, inTree(read)),
      search: tool('Finds lines of text in files.', input.search, inTree(search)),
      write: tool('Writes a whole file. Folders are made on the way.', input.write, inTree(write), writing),
      delete: tool('Deletes a file.', input.delete, inTree(remove), writing),
    },
    open: async () => void (await openRoot(root, { create: true })),
    erase: async ({ tenantId, scope, recursive }) => {
      const clear = async () => treeFor(tenantId).clear(scopeFolder(scope), recursive)
      return { files: (await naming(scope, clear).catch(unlessMissing)) ?? 0 }
    },
  })
}

interface Files extends Pick<ResourceToolContext, 'grants' | 'signal'> {
  readonly tree: FileTree
}

/** What goes wrong is told of the path as it was given: of no other, and of no place on the disk. */
async function naming<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await telling(path, work)
  } catch (error) {
    if (!(error instanceof Failure && error.code.startsWith('file.'))) throw error
    const why = error.code.slice('file.'.length).replace('_', ' ')
    throw new Failure(error.code, `file ${quote(path)}: ${why}`, { path }, error.help)
  }
}

const list: Run<Input<'list'>, Files> = async ({ path = '', depth = 1, limit = 200, cursor = '' }, files) => {
  const { entries, scopes } = await entriesBelow(path, depth, files)
  const left = entries.filter((entry) => cursor === '' || byUnit(entry.path, cursor) > 0)
  const shown = left.slice(0, limit)
  const items = []
  for (const entry of shown) items.push(...(await describe(entry, files)))
  const last = shown.at(-1)
  const more = left.length > limit && last !== undefined && { nextCursor: last.path }
  return { result: { items, ...more }, scopes }
}

const read: Run<Input<'read'>, Files> = async ({ path, offset = 0, length }, { tree, grants }) => {
  const spot = fileSpot(grants, path)
  const bytes = await tree.read(spot.host)
  const to = offset + Math.min(length ?? limits.fileReadBytesMax, limits.fileReadBytesMax)
  const { taken, ...shown } = showBytes(bytes.subarray(offset, to), to < bytes.length)
  const truncated = offset + taken < bytes.length
  return { result: { ...shown, bytes: bytes.length, hash: sha256(bytes), truncated }, scopes: [spot.grant] }
}

const search: Run<Input<'search'>, Files> = async ({ query, path = '', limit = 50 }, files) => {
  const { entries, scopes } = await entriesBelow(path, limits.fileDepthMax, files)
  const matches: { path: string; line: number; text: string }[] = []
  let [bytesLeft, truncated] = [limits.fileSearchBytesMax, false]
  for (const { path, host } of entries.filter(({ kind }) => kind === 'file')) {
    files.signal.throwIfAborted()
    const bytes = await files.tree.read(host, { bytesMax: bytesLeft }).catch(whyPassed)
    truncated ||= bytes === 'file.too_large'
    if (typeof bytes === 'string') continue
    bytesLeft -= bytes.length
    for (const found of linesWith(query, bytes)) {
      if (matches.length === limit) return { result: { matches, truncated: true }, scopes }
      matches.push({ path, ...found })
    }
  }
  return { result: { matches, truncated }, scopes }
}

const write: Run<Input<'write'>, Files> = async ({ path, content, encoding, ifHash }, { tree, grants }) => {
  const spot = fileSpot(grants, path)
  const bytes = bytesOf(content, encoding)
  const previousHash = await change(tree, spot, ifHash, bytes)
  return { result: { path, bytes: bytes.length, hash: sha256(bytes), previousHash }, scopes: [spot.grant] }
}

const remove: Run<Input<'delete'>, Files> = async ({ path, ifHash }, { tree, grants }) => {
  const spot = fileSpot(grants, path)
  return { result: { path, previousHash: await change(tree, spot, ifHash, undefined) }, scopes: [spot.grant] }
}

/** Answers the hash of what was there. */
async function change(tree: FileTree, { host, path }: Spot, expected: string | undefined, after: Buffer | undefined) {
  const before = await tree.change(host, (now) => {
    if (expected === undefined || expected === (hashOf(now) ?? 'absent')) return after
    throw new Failure('file.conflict', quote(path), { path }, 'read it again, and decide anew')
  })
  return hashOf(before)
}

const hashOf = (bytes: Buffer | undefined): string | null => (bytes === undefined ? null : sha256(bytes))

interface Entry extends Spot {
  readonly kind: TreeEntry['kind']
}

/** What lies in a folder, by path. Without one, the folders of several grants come along. */
async function entriesBelow(asked: string, depth: number, { tree, grants }: Files) {
  const spots = folderSpots(grants, asked)
  const entries: Entry[] = []
  for (const spot of spots) {
    const isLabel = spot.path !== asked
    if (isLabel) entries.push({ ...spot, kind: 'folder' })
    const levels = isLabel ? depth - 1 : depth
    // The folder of a grant comes into being with its first file.
    const listed =
      levels === 0 ? [] : await tree.list(spot.host, levels).catch(asked === '' ? unlessMissing : undefined)
    for (const { path: host, kind } of listed ?? []) {
      const path = pathBelow(spot, host, kind)
      if (path !== undefined) entries.push({ grant: spot.grant, host, path, kind })
    }
  }
  return { entries: entries.sort((a, b) => byUnit(a.path, b.path)), scopes: spots.map(({ grant }) => grant) }
}

/** What is listed of a file or folder; nothing of a file that cannot be read. */
async function describe({ path, host, kind }: Entry, { tree }: Files) {
  const stamp = await tree.stat(host, kind)
  const modifiedAt = stamp === undefined ? null : formatTime(stamp.modifiedMs)
  if (kind === 'folder') return [{ path, kind, bytes: null, hash: null, modifiedAt }]
  // The hash of a large file would cost a read of all of it.
  const bytes = await tree.read(host, { bytesMax: limits.fileReadBytesMax }).catch(whyPassed)
  if (stamp === undefined || (typeof bytes === 'string' && bytes !== 'file.too_large')) return []
  return [{ path, kind, bytes: stamp.bytes, hash: typeof bytes === 'string' ? null : sha256(bytes), modifiedAt }]
}

/** Why one file among many is passed over. */
function whyPassed(error: unknown): string {
  if (error instanceof Failure) return error.code
  throw error
}
