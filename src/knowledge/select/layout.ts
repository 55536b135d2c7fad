import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import { packPath } from '../pack-path.ts'
import type { PackFacts } from './selection.ts'

/** What a file of a pack is, by where it lies. Only these may ever be opened for selection. */
export type Place = 'split' | 'view' | 'document' | 'wiki' | 'source' | 'ontology' | 'answers'

/** Undefined for what is never context: indexes, runs, evals, schemas, assets, scripts, Skills, and whatever is no text. */
export function placeOf(path: string): Place | undefined {
  const segments = path.split('/')
  if (segments.length < 2 || segments.some(isForeign)) return undefined
  const [folder = '', second = ''] = segments
  if (folder === 'ontology' || folder === 'answers') return path.endsWith('.json') ? folder : undefined
  if (!text.test(path)) return undefined
  if (folder === 'compiled') {
    if (second === 'splits') return segments.length > 3 ? 'split' : 'view'
    return path === 'compiled/index.json' ? undefined : 'view'
  }
  return places.get(folder)
}

const places: ReadonlyMap<string, Place> = new Map([
  ['documents', 'document'],
  ['wiki', 'wiki'],
  ['sources', 'source'],
])

const isForeign = (segment: string): boolean =>
  segment === '' ||
  segment.startsWith('.') ||
  segment.includes('\\') ||
  /^(?:scripts|skill\.md|knowledge\.md)$/i.test(segment)

const text = /\.(?:md|mdx|markdown|txt|text|rst|adoc|org|csv|tsv|json|yaml|yml|html?)$/i

/** The name of a file without its folder and its ending. */
export const stemOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '')

/** The folder that holds the splits of a document. */
export const splitsOf = (document: string): string => `compiled/splits/${stemOf(document)}`

/** The split that holds a section of a document. */
export const splitOf = (document: string, section: string): string => `${splitsOf(document)}/${section}.md`

/** The section of a document that a split is a copy of. */
export interface SplitSource {
  readonly document: string
  readonly section: string
  /** The pack names the document and does not hold it: nothing shows whether the split is still true. */
  readonly isGone: boolean
}

/**
 * The splits that were made from documents: by the folder named after a document, or as the source map says. A document
 * speaks for its splits: they were made from it, and not again at every change. A split for which the pack names no
 * document, or one that was never part of it, stands for itself and is not among them.
 */
export function splitSources(
  { primaryDocument = '' }: PackHeader,
  { paths, sourceMap, runs = [] }: Pick<PackFacts, 'paths' | 'sourceMap' | 'runs'>,
): ReadonlyMap<string, SplitSource> {
  const sections = sourceMap?.document_sections ?? []
  const present = new Set(paths)
  const splits = new Set(paths.filter((path) => placeOf(path) === 'split'))
  const recorded = [primaryDocument, ...runs.flatMap(({ run }) => run.inputs.map(({ path }) => path))]
  const named = [...recorded, ...sections.map(({ document }) => document)].map((path) => packPath(path) ?? '')
  const all = [...named, ...paths].filter((path) => placeOf(path) === 'document')
  const documents = new Map(all.map((path) => [splitsOf(path), path]))
  const byFolder = [...splits].map((path) => ({ path, document: documents.get(folderOf(path)), section: stemOf(path) }))
  const mapped = sections.flatMap(({ document, section_id: section, compiled_into = [] }) =>
    compiled_into.map((path) => ({ path: packPath(path) ?? '', document: packPath(document), section })),
  )
  const known = [...byFolder, ...mapped].flatMap(({ path, document = '', section }) =>
    splits.has(path) && isContext(document) ? [{ path, document, section, isGone: !present.has(document) }] : [],
  )
  // The last one counts: a document that is there.
  return new Map(known.sort((a, b) => Number(b.isGone) - Number(a.isGone)).map((one) => [one.path, one]))
}

/** Of a split: the folder that is named after its document. */
export const folderOf = (split: string): string => split.split('/', 3).join('/')

/** The view that says where the facts of a pack end. */
export const isBoundaries = (path: string): boolean =>
  placeOf(path) === 'view' && /^(?:boundaries|constraints)\b/i.test(stemOf(path))

/** What may tell of a persona; its guide may too. */
export const isContext = (path: string): boolean => context.has(placeOf(path))
const context: ReadonlySet<Place | undefined> = new Set(['split', 'view', 'document', 'wiki'])

/** A persona says where it stops: in a file of that name, or under such a heading. */
export const saysWhereItStops = (paths: readonly string[], titles: Iterable<string>): boolean =>
  paths.some((path) => isContext(path) && limiting.test(stemOf(path))) ||
  Iterator.from(titles).some((title) => limiting.test(title))

const limiting =
  /boundar|taboo|\blimits?\b|never|must not|do(?:es)? not|don'?ts?\b|guardrail|边界|禁忌|禁区|grenzen|límites|limites/i
