import { closeSync, constants, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { placeOf, withOpen } from '../../files/contained.ts'
import type { Place } from '../../files/folder.ts'
import { segmentsOf } from '../../files/path.ts'
import { telling } from '../../files/trouble.ts'
import type { PackText } from '../../knowledge/author/pack-content.ts'
import { isContract } from '../../knowledge/author/place-documents.ts'
import { type Diagnostic, diagnostic } from '../../knowledge/diagnostic.ts'
import { entryName } from '../../knowledge/discover/header.ts'
import { listFiles } from './list-files.ts'
import { readText } from './read-text.ts'

/**
 * Writes a pack into a folder that is empty, or not there yet. Every file is new: nothing is written over, no link is
 * followed, nothing is deleted. The entry file comes last, so that what was cut short is no pack.
 */
export async function writePack(folder: string, files: readonly PackText[], shown = folder): Promise<void> {
  await telling(shown, async () => {
    checkFree(folder, shown)
    mkdirSync(resolve(folder), { recursive: true })
    const place = placeOf(resolve(folder))
    const entry = files.filter(({ path }) => path === entryName)
    const rest = files.filter(({ path }) => path !== entryName)
    for (const path of foldersOf(rest)) makeFolder(place, path)
    for (const file of [...rest, ...entry]) create(place, file)
  })
}

/** Fails with `file.exists` unless a pack may be written there; `shown` is how people call the folder. */
export function checkFree(folder: string, shown = folder): void {
  const path = resolve(folder)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined || (stats.isDirectory() && readdirSync(path).length === 0)) return
  const help = 'name a folder that is empty or not there yet: nothing is ever written over'
  throw new Failure('file.exists', `${quote(shown)} is here already`, {}, help)
}

const foldersOf = (files: readonly PackText[]): readonly string[] =>
  [...new Set(files.flatMap(({ path }) => parentsOf(path)))].sort()

const parentsOf = (path: string): readonly string[] => {
  const segments = segmentsOf(path)
  return segments.slice(0, -1).map((_, index) => segments.slice(0, index + 1).join('/'))
}

const above = (path: string): string => (path.includes('/') ? dirname(path) : '')

const makeFolder = (place: Place, path: string): void =>
  withOpen(place, above(path), 'folder', ({ host }) => mkdirSync(`${host}/${basename(path)}`))

const create = (place: Place, { path, text }: PackText): void =>
  withOpen(place, above(path), 'folder', ({ host }) => {
    const file = openSync(`${host}/${basename(path)}`, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644)
    try {
      writeFileSync(file, text)
    } finally {
      closeSync(file)
    }
  })

export interface ReadDocuments {
  readonly documents: readonly PackText[]
  /** What was left out, and why. */
  readonly diagnostics: readonly Diagnostic[]
}

/** The Markdown and plain texts below a folder, within limits; no link is followed, and no pack or Skill is read. */
export async function readDocuments(folder: string, shown = folder): Promise<ReadDocuments> {
  const place = await telling(shown, async () => placeOf(resolve(folder)))
  const { files, diagnostics } = await listFiles(place, basename(place.real))
  if (files.some(({ path }) => path === entryName))
    throw new Failure('file.invalid', `${quote(shown)} is a pack already`, {}, 'name a folder of documents')
  const found = files.filter(({ path }) => /\.(?:md|mdx|markdown|txt)$/i.test(path) && !isContract(path))
  const documents: PackText[] = []
  const refused: Diagnostic[] = []
  let room: number = limits.knowledgeCheckedBytesMax
  for (const { path, bytes } of found) {
    const full = documents.length >= limits.knowledgeDocumentsMax || bytes > room
    const read = full ? diagnostic('scan-limit', path, 'left out: enough was read') : readText(place, '', path)
    if ('text' in read) {
      documents.push({ path, text: read.text })
      room -= bytes
    } else refused.push(read)
  }
  // A folder of documents often lies beside programs, which nobody expects in a pack.
  const told = diagnostics.filter(({ code, path }) => code !== 'foreign-file' || isContract(path))
  return { documents, diagnostics: [...told, ...refused] }
}
