import type { SourceMap } from '../../model/knowledge-records.ts'
import { packPath } from '../pack-path.ts'
import { placeOf, splitsOf, stemOf } from './layout.ts'

/** The section of a document that a split is a copy of. */
export interface SplitSource {
  readonly document: string
  readonly section: string
}

/**
 * The splits whose documents are in the pack: as the source map says, else by the folder that is named after a document.
 * A document speaks for its splits: they were made from it, and nobody makes them again at every change.
 */
export function splitSources(paths: readonly string[], map: SourceMap | undefined): ReadonlyMap<string, SplitSource> {
  const documents = new Set(paths.filter((path) => placeOf(path) === 'document'))
  const byFolder = new Map([...documents].map((path) => [splitsOf(path), path]))
  const mapped = new Map(
    (map?.document_sections ?? []).flatMap(({ document, section_id: section, compiled_into = [] }) =>
      compiled_into.map((path) => [packPath(path), { document: packPath(document) ?? '', section }] as const),
    ),
  )
  const sourceOf = (path: string): SplitSource | undefined => {
    const named = mapped.get(path)
    if (named !== undefined && documents.has(named.document)) return named
    const document = byFolder.get(path.split('/', 3).join('/'))
    return document === undefined ? undefined : { document, section: stemOf(path) }
  }
  return new Map(
    paths.flatMap((path) => {
      const source = placeOf(path) === 'split' ? sourceOf(path) : undefined
      return source === undefined ? [] : [[path, source]]
    }),
  )
}
