import type { SourceMap } from '../../model/knowledge-records.ts'
import type { Diagnostic } from '../diagnostic.ts'
import { sourceMapPath } from '../read-records.ts'
import { pathOf } from '../select/anchors.ts'
import { folderOf, placeOf, splitsOf } from '../select/layout.ts'
import { type CompiledDocument, compileDocument } from './compile-document.ts'
import { sourceMapOf } from './grounding.ts'
import type { PackContent, PackText } from './pack-content.ts'
import { checkSplits } from './splits.ts'
import { jsonFile } from './write-pack.ts'

export interface Refreshed {
  /** Files to write, whole. */
  readonly files: readonly PackText[]
  /** Splits that still differ: as a rule their section is gone, and nothing is ever deleted. */
  readonly findings: readonly Diagnostic[]
}

/**
 * Makes splits again that differ from their documents, adds those of new sections, and brings the lines in the source map
 * up to date. Splits that are good, documents without splits and all other files stay as they are.
 */
export function refreshSplits(pack: PackContent): Refreshed {
  const outdated = checkSplits(pack)
  const divided = new Set(pack.paths.map(folderOf))
  const compiled = pack.files
    .filter(({ path }) => placeOf(path) === 'document' && divided.has(splitsOf(path)))
    .map(compileDocument)
  const texts = new Map(pack.files.map(({ path, text }) => [path, text]))
  const isNeeded = ({ path, text }: PackText): boolean =>
    !pack.paths.includes(path) || (outdated.some((one) => one.path === path) && texts.get(path) !== text)
  const splits = compiled.flatMap((one) => one.splits).filter(isNeeded)
  const made = new Set(splits.map(({ path }) => path))
  const findings = outdated.filter(({ path }) => !made.has(path))
  return { files: [...splits, ...refreshedMap(sourceMapOf(pack.files), compiled)], findings }
}

/** The sections as their documents have them now. Claims stay, and anchors of sections into other files. */
function refreshedMap(map: SourceMap | undefined, compiled: readonly CompiledDocument[]): readonly PackText[] {
  const old = map?.document_sections
  if (old === undefined) return []
  const others = old.filter((one) => compiled.every(({ document }) => document.path !== one.document))
  const fresh = compiled.flatMap(({ mapped }) =>
    mapped.map((section) => {
      const { document, source_anchors: [line = ''] = [] } = section
      const known = old.find((one) => one.document === document && one.section_id === section.section_id)
      const anchors = known?.source_anchors?.map((anchor) => (pathOf(anchor) === document ? line : anchor))
      return { ...section, ...known, title: section.title, source_anchors: anchors ?? [line] }
    }),
  )
  const document_sections = [...others, ...fresh]
  const isSame = JSON.stringify(document_sections) === JSON.stringify(old)
  return isSame ? [] : [jsonFile(sourceMapPath, { ...map, document_sections })]
}
