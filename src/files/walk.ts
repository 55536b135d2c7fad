import { type Dirent, readdirSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { limits } from '../base/limits.ts'
import { hostPath, isCurrent, type Kept, realPathIn, stampAt, stampOf, withOpen } from './contained.ts'
import type { Place } from './folder.ts'

export interface Entry {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'other'
}

/** A folder that was looked into. */
export interface Walked {
  /** Relative to the place, with `/`; empty for the place itself. */
  readonly path: string
  /** The path without the links that led there. */
  readonly realPath: string
  readonly depth: number
  /** Sorted by name. */
  readonly entries: readonly Entry[]
}

export interface WalkOptions {
  readonly depthMax: number
  readonly foldersMax: number
  /** Called for each folder, parents first and names in order; answers which of its folders and links to go into. */
  readonly into: (folder: Walked) => readonly Entry[]
  /** Listings of the walk before: one is taken again while its folder is unchanged. */
  readonly known?: Listings
  /** Gets the listings of this walk. */
  readonly listings?: Listings
  /** The time, to tell whether a listing is old enough to be trusted later. */
  readonly now?: () => number
}

type Listing = Kept & { readonly entries: readonly Entry[] }
export type Listings = Map<string, Listing>

export interface WalkEnd {
  readonly folders: number
  /** How many folders were left out because they lie too deep. */
  readonly tooDeep: number
  /** How many were left out because enough were walked. */
  readonly tooMany: number
  /** Links that were not gone into, though the caller would have. */
  readonly links: readonly { readonly path: string; readonly why: WhySkipped }[]
  /** Folders that could not be looked into, and what the system said. */
  readonly unreadable: readonly { readonly path: string; readonly why: string }[]
}

type WhySkipped = 'outside' | 'loop' | 'known' | 'no-folder'

type Step = Omit<Walked, 'entries'>

/**
 * Walks the folders below a place, breadth first and by name, so that a cut falls at the same spot on every machine.
 * Links are gone into after all real folders, each real folder once, and only while they stay below the place.
 */
export async function walkFolders(place: Place, options: WalkOptions): Promise<WalkEnd> {
  const queue: Step[] = [{ path: '', realPath: '', depth: 0 }]
  const waiting: Step[] = []
  const seen = new Set<string>()
  const links: { path: string; why: WhySkipped }[] = []
  const unreadable: { path: string; why: string }[] = []
  let [at, folders, tooDeep] = [0, 0, 0]

  const visit = (step: Step): void => {
    if (seen.has(step.realPath)) return
    seen.add(step.realPath)
    folders++
    for (const { name, kind } of wantedIn(step)) {
      if (step.depth >= options.depthMax) tooDeep++
      else (kind === 'link' ? waiting : queue).push(below(step, name))
    }
  }
  const wantedIn = (step: Step): readonly Entry[] => {
    let entries: readonly Entry[]
    try {
      entries = list(place, step.realPath, options)
    } catch (error) {
      unreadable.push({ path: step.path, why: (error as { code?: string }).code ?? 'unknown' })
      return []
    }
    return options.into({ ...step, entries })
  }
  const follow = (link: Step): void => {
    const target = targetOf(place, link)
    if (typeof target === 'string') links.push({ path: link.path, why: target })
    else if (seen.has(target.realPath)) links.push({ path: link.path, why: 'known' })
    else queue.push({ ...link, realPath: target.realPath })
  }

  for (;;) {
    for (; at < queue.length && folders < options.foldersMax; at++) {
      visit(queue[at] as Step)
      if (folders % limits.knowledgeFoldersPerTurn === 0) await turn()
    }
    const link = at < queue.length ? undefined : waiting.shift()
    if (link === undefined) break
    follow(link)
  }
  return { folders, tooDeep, tooMany: queue.length - at + waiting.length, links, unreadable }
}

const below = (step: Step, name: string): Step => ({
  path: joined(step.path, name),
  realPath: joined(step.realPath, name),
  depth: step.depth + 1,
})

const joined = (path: string, name: string): string => (path === '' ? name : `${path}/${name}`)

function list(place: Place, path: string, options: WalkOptions): readonly Entry[] {
  const known = options.known?.get(path)
  const isKnown = known !== undefined && isCurrent(place, path, 'folder', known)
  const listing = isKnown ? known : readListing(place, path, options.now ?? Date.now)
  options.listings?.set(path, listing)
  return listing.entries
}

function readListing(place: Place, path: string, now: () => number): Listing {
  return withOpen(place, path, 'folder', ({ host, stats }) => {
    const readMs = now()
    const found = readdirSync(host, { withFileTypes: true }).map((entry) => ({ name: entry.name, kind: kindOf(entry) }))
    return { stamp: stampOf(stats), readMs, entries: found.sort((left, right) => (left.name < right.name ? -1 : 1)) }
  })
}

function kindOf(entry: Dirent): Entry['kind'] {
  if (entry.isDirectory()) return 'folder'
  if (entry.isFile()) return 'file'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

/** Where a link really leads below the place. */
function targetOf(place: Place, link: Step): { readonly realPath: string } | WhySkipped {
  try {
    const realPath = realPathIn(place, hostPath(place, link.realPath))
    if (realPath === undefined) return 'outside'
    if (realPath === '' || `${link.realPath}/`.startsWith(`${realPath}/`)) return 'loop'
    return stampAt(place, realPath, 'folder') === undefined ? 'no-folder' : { realPath }
  } catch (error) {
    return (error as { code?: string }).code === 'ELOOP' ? 'loop' : 'no-folder'
  }
}
