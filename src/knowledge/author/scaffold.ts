import type { PackMode, PackProfile } from '../../model/knowledge/knowledge.ts'
import type { SourceMap } from '../../model/knowledge/records.ts'
import { sourceMapPath } from '../read-records.ts'
import { compileDocument } from './compile-document.ts'
import type { PackText } from './pack-content.ts'
import { guideOf, pagesOf, suitesOf } from './scaffold-texts.ts'
import { entryFile, inOrder, jsonFile } from './write-pack.ts'

export interface NewPack {
  readonly name: string
  readonly description?: string | undefined
  readonly type: string
  readonly profile: PackProfile
  readonly mode: PackMode
  /** `2026-03-14`. */
  readonly today: string
}

/** The files of a small pack that is valid as it stands: an example of every part, for its owner to write over. */
export function newPack(pack: NewPack): readonly PackText[] {
  const topic = pack.name.replaceAll('-', ' ').trim()
  const { description = `What is known about ${topic}, kept by its owners. Use it for questions about ${topic}.` } =
    pack
  const hasOntology = pack.type === 'content-ontology'
  const pages = pagesOf(topic, pack)
  const document = pages.find(({ path }) => path.startsWith('documents/'))
  const compiled = document === undefined ? undefined : compileDocument(document)
  const entry = entryFile(
    {
      name: pack.name,
      description,
      type: pack.type,
      status: 'draft',
      profile: pack.profile,
      mode: pack.mode,
      grounding: 'recommended',
      updated: pack.today,
      primaryDocument: document?.path,
      ...(hasOntology && { primaryOntology: ontologyPath }),
    },
    guideOf(topic, pages),
  )
  return inOrder([
    entry,
    ...pages,
    ...(compiled?.splits ?? []),
    jsonFile(sourceMapPath, mapOf(pages, compiled?.mapped ?? [])),
    ...suitesOf(pack.name, topic),
    ...(hasOntology ? [jsonFile(ontologyPath, { concepts: [], relations: [], claims: [] })] : []),
  ])
}

const ontologyPath = 'ontology/ontology.json'

/** The example claim stands on line 3 of the notes. */
const mapOf = (pages: readonly PackText[], sections: NonNullable<SourceMap['document_sections']>): SourceMap => {
  const split = sections.find(({ section_id }) => section_id === 'facts')?.compiled_into
  const views = pages.map(({ path }) => path).filter((path) => path === 'compiled/facts.md')
  return {
    claims: [
      {
        claim_id: 'example-1',
        text: 'Every fact of this pack has a line in a source.',
        status: 'inferred',
        source: { path: 'sources/notes.md', anchor: 'L3' },
        compiled_into: split ?? views,
      },
    ],
    document_sections: sections.map((section) => ({ ...section, source_anchors: ['sources/notes.md#L3'] })),
  }
}
