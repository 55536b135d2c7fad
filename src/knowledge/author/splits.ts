import { quote } from '../../base/failure.ts'
import type { SourceMap } from '../../model/knowledge/records.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { sourceMapPath } from '../read-records.ts'
import { pathOf } from '../select/anchors.ts'
import { sectionDigest } from '../select/file-index.ts'
import { kept } from '../select/kept.ts'
import { folderOf, placeOf, splitSources, splitsOf } from '../select/layout.ts'
import { type CompiledDocument, compileDocument } from './compile-document.ts'
import { runsOf, sourceMapOf } from './grounding.ts'
import type { PackContent, PackText } from './pack-content.ts'
import { documentSections } from './sections.ts'
import { jsonFile } from './write-pack.ts'

/** Splits that do not say what their document says, text and heading, whatever the layout, and those whose document is gone. */
export function checkSplits({ header, paths, files }: PackContent): readonly Diagnostic[] {
  const readable = new Map(files.map((file) => [file.path, file]))
  const facts = { paths, sourceMap: sourceMapOf(files), runs: runsOf(files) }
  return [...splitSources(header, facts)].flatMap(([path, { document, isGone }]) => {
    const gone = `was made from ${quote(document)}, which is not in the pack: delete it, or put the document back`
    if (isGone) return [diagnostic('split-orphaned', path, gone)]
    const [split, source] = [readable.get(path), readable.get(document)]
    if (split === undefined || source === undefined) return []
    if (digestsOf(split).isSubsetOf(digestsOf(source))) return []
    const message = `differs from ${quote(document)}, which is used in its place: run \`ambit knowledge refresh\``
    return [diagnostic('split-outdated', path, message)]
  })
}

/** The sections of a file, each as one digest. */
const digestsOf = kept(
  (file: PackText) => new Set(documentSections(file).map(({ headings, body }) => sectionDigest(headings, body))),
)

export interface Refreshed {
  /** Files to write, whole. */
  readonly files: readonly PackText[]
  /** Splits that still differ: as a rule their section or document is gone, and nothing is ever deleted. */
  readonly findings: readonly Diagnostic[]
}

/**
 * Makes splits again that differ from their documents, adds those of new sections, and brings the lines in the source map
 * up to date. Splits that are good, documents without splits and all other files stay as they are.
 */
export function refreshSplits(pack: PackContent): Refreshed {
  const outdated = new Map(checkSplits(pack).map((finding) => [finding.path, finding]))
  const divided = new Set(pack.paths.map(folderOf))
  const compiled = pack.files
    .filter(({ path }) => placeOf(path) === 'document' && divided.has(splitsOf(path)))
    .map(compileDocument)
  const there = new Set(pack.paths)
  const texts = new Map(pack.files.map(({ path, text }) => [path, text]))
  const isNeeded = ({ path, text }: PackText): boolean =>
    !there.has(path) || (outdated.has(path) && texts.get(path) !== text)
  const splits = compiled.flatMap((one) => one.splits).filter(isNeeded)
  for (const { path } of splits) outdated.delete(path)
  const files = [...splits, ...refreshedMap(sourceMapOf(pack.files), compiled)]
  return { files, findings: [...outdated.values()] }
}

/** The sections as their documents have them now. Claims stay, and anchors of sections into other files. */
function refreshedMap(map: SourceMap | undefined, compiled: readonly CompiledDocument[]): readonly PackText[] {
  const old = map?.document_sections
  if (old === undefined) return []
  const known = new Map(old.map((one) => [`${one.document}#${one.section_id}`, one]))
  const others = old.filter((one) => compiled.every(({ document }) => document.path !== one.document))
  const fresh = compiled.flatMap(({ mapped }) =>
    mapped.map((section) => {
      const { document, section_id, title, source_anchors: [line = ''] = [] } = section
      const before = known.get(`${document}#${section_id}`)
      const anchors = before?.source_anchors?.map((anchor) => (pathOf(anchor) === document ? line : anchor))
      return { ...section, ...before, title, source_anchors: anchors ?? [line] }
    }),
  )
  const document_sections = [...others, ...fresh]
  const isSame = JSON.stringify(document_sections) === JSON.stringify(old)
  return isSame ? [] : [jsonFile(sourceMapPath, { ...map, document_sections })]
}
