import assert from 'node:assert/strict'
import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { isObject } from '../../base/object.ts'
import { recent } from '../../base/recent.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import { bodyOf } from '../../knowledge/discover/frontmatter.ts'
import { entryName } from '../../knowledge/discover/header.ts'
import type { Pack } from '../../knowledge/pack.ts'
import {
  isCompileRun,
  type Reading,
  readCompileRun,
  readPackJson,
  readSourceMap,
  sourceMapPath,
} from '../../knowledge/read-records.ts'
import { candidatesOf } from '../../knowledge/select/candidates.ts'
import { estimateTokens } from '../../knowledge/select/estimate.ts'
import { indexFile } from '../../knowledge/select/file-index.ts'
import { indexRecords } from '../../knowledge/select/records.ts'
import type { CountTokens, FileIndex } from '../../knowledge/select/section.ts'
import type { PackFacts } from '../../knowledge/select/selection.ts'
import type { PackFile } from './list-files.ts'
import { openPackFiles, type PackFiles } from './pack-files.ts'
import type { RootOptions } from './roots.ts'

/** What selection has to know of a pack, read as far as it was asked for. */
export interface OpenPack {
  readonly facts: Omit<PackFacts, 'activation' | 'warnings'>
  readonly files: PackFiles
  readonly listed: readonly PackFile[]
  /** What listing found, and what reading found so far. */
  readonly listing: readonly Diagnostic[]
  readonly reading: readonly Diagnostic[]
  /** Divides more files into sections; `facts` knows them from then on. */
  index(paths: readonly string[]): Promise<void>
}

/** Opens packs, and keeps what was made of a file for as long as it does not change. */
export interface Library {
  open(pack: Pack): Promise<OpenPack>
  /** The files of a pack. */
  files(pack: Pack): Promise<PackFiles>
  /** What `make` makes of the text of a file, or what is wrong with it; made again only when the file has changed. */
  of<T>(pack: Pack, files: PackFiles, file: PackFile, kind: string, make: (text: string) => T): Promise<T | Diagnostic>
  /** The digests of the files of a pack, each made again only when the file has changed. */
  digest(pack: Pack, files: PackFiles): (file: PackFile) => Promise<string | Diagnostic>
}

interface Kept {
  readonly file: PackFile
  readonly value: unknown
}

export interface LibraryDeps {
  readonly roots: readonly RootOptions[]
  readonly count: CountTokens
  readonly now: () => number
}

export function makeLibrary(deps: LibraryDeps): Library {
  const kept = new Map<string, Kept>()
  const opened = recent<string, OpenPack>(limits.knowledgePacksKeptMin)

  const once = async <T>(pack: Pack, file: PackFile, kind: string, make: () => Promise<T | Diagnostic>) => {
    const key = JSON.stringify([pack.id, file.path, kind])
    const known = kept.get(key)
    if (known !== undefined && isSame(known.file, file)) return known.value as T
    const began = deps.now()
    const value = await make()
    if (isDiagnostic(value)) return value
    // One that was changed a moment ago may be changed again within the same timestamp.
    if (began - changedAt(file) > limits.knowledgeSettledMs) keep(kept, key, { file, value })
    else kept.delete(key)
    return value
  }

  const library: Library = {
    of: (pack, files, file, kind, make) =>
      once(pack, file, kind, async () => {
        const read = await files.read(file.path)
        return 'code' in read ? read : make(read.text)
      }),
    digest: (pack, files) => (file) => once(pack, file, 'digest', () => files.digest(file.path)),
    files: (pack) => openPackFiles(rootOf(pack, deps), pack),
    open: async (pack) => {
      const files = await library.files(pack)
      const { files: listed, diagnostics: listing } = await files.list()
      const known = opened.get(pack.id)
      // What selection prepares hangs on the facts: the same ones are given while no file has changed.
      if (known !== undefined && known.facts.pack.digest === pack.digest && areSame(known.listed, listed))
        return { ...known, files, listing }
      const open = await openPack(pack, { files, listed, listing }, { library, count: deps.count })
      const settled = deps.now() - limits.knowledgeSettledMs
      if (listed.every((file) => changedAt(file) < settled)) opened.set(pack.id, open)
      else opened.delete(pack.id)
      return open
    },
  }
  return library
}

function rootOf(pack: Pack, { roots }: LibraryDeps): RootOptions {
  const root = roots.find(({ id }) => id === pack.root)
  assert(root !== undefined, 'a pack comes from one of the roots')
  return root
}

const areSame = (left: readonly PackFile[], right: readonly PackFile[]): boolean =>
  left.length === right.length && left.every((file, at) => file.path === right[at]?.path && isSame(file, right[at]))

const isSame = (left: PackFile, right: PackFile): boolean =>
  left.fileId === right.fileId &&
  left.bytes === right.bytes &&
  left.modifiedMs === right.modifiedMs &&
  left.changedMs === right.changedMs

const changedAt = ({ modifiedMs, changedMs }: PackFile): number => Math.max(modifiedMs, changedMs)

/** The newest are kept: a map remembers the order in which it was filled. */
function keep(kept: Map<string, Kept>, key: string, value: Kept): void {
  kept.delete(key)
  kept.set(key, value)
  for (const oldest of kept.keys().take(Math.max(0, kept.size - limits.knowledgeFilesKeptMax))) kept.delete(oldest)
}

async function openPack(
  pack: Pack,
  { files, listed, listing }: Pick<OpenPack, 'files' | 'listed' | 'listing'>,
  { library, count }: { readonly library: Library; readonly count: CountTokens },
): Promise<OpenPack> {
  const byPath = new Map(listed.map((file) => [file.path, file]))
  const found: Diagnostic[] = []
  const take = async <T>(path: string, kind: string, make: (text: string) => T): Promise<T | undefined> => {
    const file = byPath.get(path)
    if (file === undefined) return undefined
    const made = await library.of(pack, files, file, kind, make)
    if (!isDiagnostic(made)) return made
    found.push(made)
    return undefined
  }
  const read = async <T>(path: string, make: (text: string) => Reading<T>): Promise<T | undefined> => {
    const reading = await take(path, 'record', make)
    if (reading !== undefined && 'problem' in reading) found.push({ ...reading.problem, pack: pack.id })
    return reading !== undefined && 'value' in reading ? reading.value : undefined
  }

  const paths = listed.map(({ path }) => path)
  const guide = (await take(entryName, 'guide', bodyOf)) ?? ''
  const sourceMap = await read(sourceMapPath, readSourceMap)
  const newest = paths.findLast(isCompileRun)
  const run = newest === undefined ? undefined : await read(newest, (text) => readCompileRun(newest, text))
  const runs = newest === undefined || run === undefined ? [] : [{ path: newest, run }]
  const json = new Map<string, Json>()
  for (const path of candidatesOf(pack, { paths, guide }).records) {
    const value = await read(path, (text) => readPackJson(path, text))
    if (value !== undefined) json.set(path, value)
  }
  const indexes = new Map<string, FileIndex>()
  const unreadable = new Set<string>()
  return {
    facts: { pack, paths, guide, files: indexes, unreadable, sourceMap, runs, records: indexRecords(json, count) },
    files,
    listed,
    listing,
    reading: found,
    index: async (wanted) => {
      for (const path of wanted) {
        const index = await take(path, 'index', (text) =>
          indexFile(path, text, text.length > limits.knowledgeExactCharsMax ? estimateTokens : count),
        )
        if (index === undefined) unreadable.add(path)
        else indexes.set(path, index)
      }
    },
  }
}

const isDiagnostic = (value: unknown): value is Diagnostic => isObject(value) && 'code' in value && 'severity' in value
