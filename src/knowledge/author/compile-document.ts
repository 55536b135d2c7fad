import type { SourceMap } from '../../model/knowledge/records.ts'
import { splitOf } from '../select/layout.ts'
import type { PackText } from './pack-content.ts'
import { type DocumentSection, documentSections } from './sections.ts'

export interface CompiledDocument {
  readonly document: PackText
  readonly sections: readonly DocumentSection[]
  /** One file for each section. */
  readonly splits: readonly PackText[]
  /** The same sections for the source map, anchored where they stand in the document. */
  readonly mapped: NonNullable<SourceMap['document_sections']>
}

/** Takes a document apart into one file a section. */
export function compileDocument(document: PackText): CompiledDocument {
  const sections = documentSections(document)
  const pathOf = ({ id }: DocumentSection): string => splitOf(document.path, id)
  return {
    document,
    sections,
    splits: sections.map((section) => ({ path: pathOf(section), text: splitText(section) })),
    mapped: sections.map((section) => ({
      document: document.path,
      section_id: section.id,
      title: section.title,
      source_anchors: [`${document.path}#L${section.line}`],
      compiled_into: [pathOf(section)],
    })),
  }
}

/** The headings above stay with the text: on its own, `Options` would not say of what. */
const splitText = ({ headings, body }: DocumentSection): string =>
  `${headings.map((title, index) => `${'#'.repeat(index + 1)} ${title}\n\n`).join('')}${body.trim()}\n`
