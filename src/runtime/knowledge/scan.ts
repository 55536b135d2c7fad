import assert from 'node:assert/strict'
import { byUnit } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { placeOf } from '../../files/contained.ts'
import type { Place } from '../../files/folder.ts'
import { type Listings, walkFolders } from '../../files/walk.ts'
import { type Diagnostic, diagnostic } from '../../knowledge/diagnostic.ts'
import type { Pack, QuarantinedPack } from '../../knowledge/pack.ts'
import type { PackTrust, RootScope } from '../../model/knowledge/knowledge.ts'
import { attempt } from './attempt.ts'
import type { Heads } from './entry-head.ts'
import { collectFindings, reportLeftOut } from './findings.ts'
import { type IsIgnored, makeGitIgnored, makeIgnored } from './ignored.ts'
import { ceilingOf, type RootOptions } from './roots.ts'
import { makeVisitor } from './visit.ts'

export interface ScanOptions {
  /** Names of folders that are passed over, in place of the usual ones. Hidden folders and `indexes` always are. */
  readonly ignored?: readonly string[] | undefined
  /** Passes over what `.gitignore` files of the root leave out. */
  readonly gitignore?: boolean | undefined
  /** Types of packs that are allowed though the standard does not know them. */
  readonly types?: readonly string[] | undefined
  readonly depthMax?: number | undefined
  readonly foldersMax?: number | undefined
}

export interface ScannedRoot {
  readonly id: string
  readonly scope: RootScope
  readonly ceiling: PackTrust
  /** It is not there, is no folder, or cannot be read. */
  readonly missing: boolean
  readonly folders: number
  readonly packs: number
  readonly depthMax: number
  readonly foldersMax: number
  /** What was left out, and why. */
  readonly cut: readonly string[]
}

export interface Scan {
  readonly roots: readonly ScannedRoot[]
  /** By root in the order given, then by path. */
  readonly packs: readonly Pack[]
  readonly quarantined: readonly QuarantinedPack[]
  /** Findings that belong to no pack; those of a pack are with it. */
  readonly diagnostics: readonly Diagnostic[]
}

export interface Scanner {
  /** All packs below the roots. What is wrong with one pack, folder or root is a finding and stops nothing. */
  scan(roots: readonly RootOptions[], options?: ScanOptions): Promise<Scan>
}

export interface ScannerDeps {
  readonly now?: () => number
  /** Told of every entry file that is opened. */
  readonly onRead?: (path: string) => void
}

/** Remembers what it read: a file or folder that is unchanged is not read again. */
export function makeScanner(deps: ScannerDeps = {}): Scanner {
  let known: ReadonlyMap<string, Memory> = new Map()
  return {
    scan: async (roots, options = {}) => {
      assert(new Set(roots.map(({ id }) => id)).size === roots.length, 'roots have different ids')
      const fresh = new Map<string, Memory>()
      const scans: Scan[] = []
      for (const [order, root] of roots.entries()) {
        const key = JSON.stringify([root.id, root.path, options.types ?? []])
        const memory = emptyMemory()
        fresh.set(key, memory)
        scans.push(await scanRoot({ root, order, options, deps, known: known.get(key) ?? emptyMemory(), memory }))
      }
      known = fresh
      return joined(scans)
    },
  }
}

interface Memory {
  readonly heads: Heads
  readonly listings: Listings
}

const emptyMemory = (): Memory => ({ heads: new Map(), listings: new Map() })

interface Job {
  readonly root: RootOptions
  readonly order: number
  readonly options: ScanOptions
  readonly deps: ScannerDeps
  readonly known: Memory
  readonly memory: Memory
}

async function scanRoot(job: Job): Promise<Scan> {
  const { root, options, known, memory, deps } = job
  const place = attempt(() => placeOf(root.path))
  if (place === undefined) return missing(root, options)
  const { now = Date.now, onRead } = deps
  const findings = collectFindings()
  const reader = { place, options: { types: options.types }, known: known.heads, heads: memory.heads, now, onRead }
  const visitor = makeVisitor({ root, order: job.order, reader, findings, isIgnored: ignoring(place, options) })
  const end = await walkFolders(place, {
    ...boundsOf(options),
    into: visitor.into,
    known: known.listings,
    listings: memory.listings,
    now,
  })
  if (end.unreadable.some(({ path }) => path === '')) return missing(root, options)
  const cut = reportLeftOut(end, findings)
  const roots = [{ ...rootFacts(root, options), folders: end.folders, packs: visitor.packs.length, cut }]
  return { roots, packs: byPath(visitor.packs), quarantined: byPath(visitor.quarantined), diagnostics: findings.all() }
}

function ignoring(place: Place, { ignored, gitignore = false }: ScanOptions): IsIgnored {
  const byName = makeIgnored(ignored)
  if (!gitignore) return byName
  const byGit = makeGitIgnored(place)
  return (folder, name) => byName(folder, name) || byGit(folder, name)
}

const boundsOf = ({ depthMax, foldersMax }: ScanOptions) => ({
  depthMax: depthMax ?? limits.knowledgeDepthMax,
  foldersMax: foldersMax ?? limits.knowledgeFoldersMax,
})

const rootFacts = (root: RootOptions, options: ScanOptions): ScannedRoot => ({
  id: root.id,
  scope: root.scope,
  ceiling: ceilingOf(root),
  missing: false,
  folders: 0,
  packs: 0,
  ...boundsOf(options),
  cut: [],
})

function missing(root: RootOptions, options: ScanOptions): Scan {
  const found = diagnostic('root-missing', '', `the root ${quote(root.id)} is not there, or cannot be read`)
  return {
    roots: [{ ...rootFacts(root, options), missing: true }],
    packs: [],
    quarantined: [],
    diagnostics: [found],
  }
}

const byPath = <T extends { readonly path: string }>(packs: readonly T[]): readonly T[] =>
  packs.toSorted((left, right) => byUnit(left.path, right.path))

const joined = (scans: readonly Scan[]): Scan => ({
  roots: scans.flatMap(({ roots }) => roots),
  packs: scans.flatMap(({ packs }) => packs),
  quarantined: scans.flatMap(({ quarantined }) => quarantined),
  diagnostics: scans.flatMap(({ diagnostics }) => diagnostics),
})
