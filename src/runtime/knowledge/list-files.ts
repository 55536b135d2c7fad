import { lstatSync, type Stats } from 'node:fs'
import { limits } from '../../base/limits.ts'
import { fileIdOf, hostPath, type Stamp, stampOf } from '../../files/contained.ts'
import type { Place } from '../../files/folder.ts'
import { type Entry, type Walked, walkFolders } from '../../files/walk.ts'
import type { Diagnostic, DiagnosticCode } from '../../knowledge/diagnostic.ts'
import { foreignKind } from '../../knowledge/discover/foreign.ts'
import { entryName } from '../../knowledge/discover/header.ts'
import { attempt } from './attempt.ts'
import { collectFindings, type Findings } from './findings.ts'

/** A file of a pack as it lies there: nothing of its text. Its time of modification can be set back, that of change cannot. */
export interface PackFile extends Pick<Stamp, 'bytes' | 'modifiedMs' | 'changedMs'> {
  /** Relative to the pack, with `/`. */
  readonly path: string
  /** Tells a file from another that was put in its place. */
  readonly fileId: string
}

export const fileOf = (path: string, stamp: Stamp): PackFile => {
  const { bytes, modifiedMs, changedMs } = stamp
  return { path, bytes, modifiedMs, changedMs, fileId: fileIdOf(stamp) }
}

interface Listing {
  readonly place: Place
  readonly findings: Findings
  readonly files: PackFile[]
  tooMany: number
}

// A pack is flat; what is nested deeper than this is not meant to be read.
const depthMax = 32

export async function listFiles(
  place: Place,
  pack: string,
): Promise<{ readonly files: readonly PackFile[]; readonly diagnostics: readonly Diagnostic[] }> {
  const listing: Listing = { place, findings: collectFindings(pack), files: [], tooMany: 0 }
  const foldersMax = limits.knowledgeFilesMax
  const end = await walkFolders(place, { depthMax, foldersMax, into: (folder) => take(listing, folder) })
  const folders = end.tooDeep + end.tooMany
  if (folders > 0) listing.findings.add('scan-limit', '', `left out: ${folders} folders too deep or too many`)
  if (listing.tooMany > 0) listing.findings.add('scan-limit', '', `left out: ${listing.tooMany} files too many`)
  for (const { path, why } of end.unreadable) listing.findings.add('scan-limit', path, `cannot be read (${why})`)
  const files = listing.files.sort((left, right) => (left.path < right.path ? -1 : 1))
  return { files, diagnostics: listing.findings.all() }
}

/** Takes the files of a folder, and answers which folders to go into. */
function take(listing: Listing, folder: Walked): readonly Entry[] {
  if (folder.path !== '' && folder.entries.some(({ name, kind }) => name === entryName && kind === 'file')) {
    listing.findings.add('nested-pack', folder.path, 'a pack inside a pack is part of neither')
    return []
  }
  const shown = folder.entries.filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
  for (const { name, kind } of shown) {
    const path = folder.path === '' ? name : `${folder.path}/${name}`
    if (kind === 'link') listing.findings.add('link-skipped', path, 'links are not followed in a pack')
    if (kind === 'other') listing.findings.add('foreign-file', path, 'neither a file nor a folder: never opened')
    if (kind === 'file') takeFile(listing, path)
  }
  return shown.filter(({ kind }) => kind === 'folder')
}

function takeFile(listing: Listing, path: string): void {
  const stats = statsOf(listing.place, path)
  const why = stats === undefined ? vanished : leftOut(path, stats)
  if (why !== undefined) listing.findings.add(why[0], path, why[1])
  else if (listing.files.length >= limits.knowledgeFilesMax) listing.tooMany++
  else if (stats !== undefined) listing.files.push(fileOf(path, stampOf(stats)))
}

type Why = readonly [DiagnosticCode, string]

const vanished: Why = ['file-changed', 'it vanished while the pack was listed']

/** Why a file is left out of the pack and never opened. */
export function leftOut(path: string, stats: Stats): Why | undefined {
  const foreign = foreignKind(path, (stats.mode & 0o111) !== 0)
  if (foreign !== undefined) return ['foreign-file', `${foreign}: never opened, never run`]
  if (stats.size <= limits.knowledgeFileBytesMax) return undefined
  return ['size-limit', `left out: more than ${limits.knowledgeFileBytesMax} bytes`]
}

function statsOf(place: Place, path: string): Stats | undefined {
  const stats = attempt(() => lstatSync(hostPath(place, path)))
  return stats?.isFile() ? stats : undefined
}
