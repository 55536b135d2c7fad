import { lstatSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { openRoot } from '../../files/root.ts'
import { lint } from '../../knowledge/author/lint.ts'
import { type PackText, sortedFindings } from '../../knowledge/author/pack-content.ts'
import { refreshSplits } from '../../knowledge/author/splits.ts'
import { validate } from '../../knowledge/author/validate.ts'
import { type Diagnostic, diagnostic, distinct } from '../../knowledge/diagnostic.ts'
import { entryName, readHeader } from '../../knowledge/discover/header.ts'
import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import { countTokens } from '../../tokens/count.ts'
import { contentDigestOf } from './approvals.ts'
import type { PackFile } from './list-files.ts'
import { openPackFiles, type PackFiles } from './pack-files.ts'

export interface CheckedPack {
  /** Missing where the frontmatter cannot be used. */
  readonly header?: PackHeader | undefined
  /** What an approval of just these files names; only where it was validated and every file can be read. */
  readonly digest?: string | undefined
  /** How many files were looked at. */
  readonly files: number
  readonly findings: readonly Diagnostic[]
  /** What was written, or would be. */
  readonly written?: readonly string[]
}

/** Frontmatter, layout, records and source map of the pack in a folder. Nothing of it is run, followed or changed. */
export async function validatePack(folder: string, shown = folder, rules = validate): Promise<CheckedPack> {
  const checked = await check(folder, shown, rules)
  if (checked.header === undefined) return checked
  const digest = await contentDigestOf(await openFolder(resolve(folder)))
  return { ...checked, ...(digest !== undefined && { digest }) }
}

/** What else its owner should know: secrets, attacks, what is out of date, too long or badly described. */
export const lintPack = (folder: string, shown = folder): Promise<CheckedPack> => check(folder, shown, lintContent)

/** Both, for a person who is to approve the pack. */
export const reviewPack = (folder: string, shown = folder): Promise<CheckedPack> =>
  validatePack(folder, shown, (content) => distinct([...validate(content), ...lintContent(content)]))

const lintContent: typeof validate = (content) => lint(content, { count: countTokens })

/** Makes splits again that differ from their documents; with `dryRun` only says which. */
export async function refreshPack(folder: string, shown: string, dryRun: boolean): Promise<CheckedPack> {
  let files: readonly PackText[] = []
  const checked = await check(folder, shown, (content) => {
    const refreshed = refreshSplits(content)
    files = refreshed.files
    return refreshed.findings
  })
  const root = await openRoot(resolve(folder))
  for (const { path, text } of dryRun ? [] : files) await root.write(path, Buffer.from(text), { mode: 0o644 })
  return { ...checked, written: files.map(({ path }) => path) }
}

async function check(folder: string, shown: string, rules: typeof validate): Promise<CheckedPack> {
  const path = resolve(folder)
  const missing = entryTrouble(shown, path)
  if (missing !== undefined) return { files: 0, findings: [missing] }
  const name = basename(path)
  const opened = await openFolder(path)
  const { files, diagnostics } = await opened.list()
  const read = await readTexts(opened, files)
  const entry = read.texts.find((file) => file.path === entryName)
  const { header, diagnostics: told } = readHeader(Buffer.from(entry?.text ?? ''), { id: name, folder: name })
  const content = header && { header, paths: files.map((file) => file.path), files: read.texts }
  const found = [
    ...diagnostics,
    ...read.diagnostics,
    ...(entry === undefined ? [] : told),
    ...(content === undefined ? [] : rules(content)),
  ]
  // All findings of one pack, however they came about, name it alike.
  const findings = sortedFindings(found.map((finding) => ({ ...finding, pack: name })))
  return { ...(header && { header }), files: files.length, findings }
}

const openFolder = (path: string): Promise<PackFiles> =>
  openPackFiles({ id: 'pack', scope: 'workspace', path }, { id: basename(path), path: '' })

/** A folder that is not there is the caller's mistake; one without a good entry file is a finding. */
function entryTrouble(shown: string, path: string): Diagnostic | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new Failure('file.not_found', `${quote(shown)} is not a folder`)
  const stats = lstatSync(join(path, entryName), { throwIfNoEntry: false })
  if (stats === undefined) return diagnostic('entry-missing', entryName, 'there is none, so this folder is no pack')
  return stats.isFile() ? undefined : diagnostic('entry-kind', entryName, 'it is not a regular file')
}

/** The texts of a pack up to a limit; images and the like are not opened. */
async function readTexts(
  opened: PackFiles,
  files: readonly PackFile[],
): Promise<{ readonly texts: readonly PackText[]; readonly diagnostics: readonly Diagnostic[] }> {
  const texts: PackText[] = []
  const diagnostics: Diagnostic[] = []
  let [room, left]: [number, number] = [limits.knowledgeCheckedBytesMax, 0]
  for (const { path, bytes } of files.filter((file) => !media.test(file.path))) {
    if (bytes > room) left++
    else {
      room -= bytes
      const read = await opened.read(path)
      if ('text' in read) texts.push({ path, text: read.text })
      else diagnostics.push(read)
    }
  }
  const message = `left out: ${left} files, after ${limits.knowledgeCheckedBytesMax} bytes in others`
  return { texts, diagnostics: left === 0 ? diagnostics : [...diagnostics, diagnostic('size-limit', '', message)] }
}

const media =
  /\.(?:png|jpe?g|gif|webp|avif|ico|pdf|zip|gz|tgz|mp[34]|m4a|wav|ogg|webm|mov|woff2?|ttf|otf|docx?|xlsx?|pptx?)$/i
