import { quote } from '../../base/failure.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { entryName } from '../discover/header.ts'
import type { Pack } from '../pack.ts'
import { leadsOut, packPath } from '../pack-path.ts'
import { folderOf, type Place, placeOf, type SplitSource, splitSources, stemOf } from './layout.ts'
import type { PackFacts } from './selection.ts'

/** The files of a pack that may serve, those to look at first in the first tier. No tier is ever the whole pack unasked. */
export interface Candidates {
  readonly tiers: readonly (readonly string[])[]
  /** Ontology and answers, as far as they hold something to know: JSON, for `indexRecords`. */
  readonly records: readonly string[]
  /** Splits that were made from documents. They are in no tier, and documents in their place, if there is any document. */
  readonly splits: ReadonlyMap<string, SplitSource>
  readonly diagnostics: readonly Diagnostic[]
}

/** The context map of the guide says which file answers what; files or folders (`wiki/`) may be configured. */
export type CandidateFacts = Pick<PackFacts, 'paths' | 'guide' | 'configured' | 'sourceMap' | 'runs'>

export function candidatesOf(pack: Pack, facts: CandidateFacts): Candidates {
  const splits = splitSources(pack.header, facts)
  const files = sort(facts.paths, splits)
  const primary = primaryOf(pack, files)
  const { profile } = pack.header
  const tiers =
    profile === 'document-first'
      ? documentTiers(pack, files, primary)
      : profile === 'wiki-first'
        ? [[...files.view, ...files.split], files.wiki]
        : hybridTiers(pack, files, primary, facts)
  const filled = tiers.map((tier, at) => once(tier, tiers.slice(0, at).flat())).filter((tier) => tier.length > 0)
  const records = [...files.ontology, ...files.answers].filter((path) => isRecord(path, pack))
  // A document-first pack that has nothing but its guide: better that than nothing, and the gap is told.
  const isBare = profile === 'document-first' && filled.length + records.length === 0 && facts.guide.trim() !== ''
  return {
    tiers: isBare ? [[entryName]] : filled,
    records,
    splits,
    diagnostics: [...escapes(pack), ...gaps(pack, files, primary), ...orphans(pack, files, splits)],
  }
}

type Sorted = Readonly<Record<Place, readonly string[]>>

/** A document with splits stands where they would. If one is gone, all documents do: it may have another name now. */
function sort(paths: readonly string[], splits: Candidates['splits']): Sorted {
  const none: Sorted = { split: [], view: [], document: [], wiki: [], source: [], ontology: [], answers: [] }
  const found = { ...none, ...Object.groupBy(paths.toSorted(), (path) => placeOf(path) ?? 'nowhere') }
  const sources = [...splits.values()]
  const divided = sources.filter(({ isGone }) => !isGone).map(({ document }) => document)
  const inPlace = new Set(sources.some(({ isGone }) => isGone) ? [...divided, ...found.document] : divided)
  // Without any document, the splits of one that is gone are all there is.
  const isUsed = (one?: SplitSource): boolean => one === undefined || (one.isGone && found.document.length === 0)
  const split = [...found.split.filter((path) => isUsed(splits.get(path))), ...[...inPlace].sort()]
  return { ...found, split }
}

const once = (paths: readonly string[], before: readonly string[]): readonly string[] => {
  const seen = new Set(before)
  return [...new Set(paths)].filter((path) => !seen.has(path))
}

function primaryOf({ header }: Pack, { document }: Sorted): string | undefined {
  const named = packPath(header.primaryDocument ?? '')
  return document.find((path) => path === named)
}

/** What has splits beside the short views, and the primary document; then other documents and views. */
function documentTiers({ header }: Pack, files: Sorted, primary: string | undefined): readonly (readonly string[])[] {
  const views = files.view.filter((path) => header.mode === 'persona' || competing.test(stemOf(path)))
  const first = primary === undefined ? [] : [primary]
  return [
    [...files.split, ...views, ...first],
    [...files.document, ...files.view],
  ]
}

const competing = /^(?:briefing|facts|boundaries|constraints)\b/i

/** Where the pack itself says to begin: its primary document, else its context map, else where the operator says. */
function hybridTiers(
  pack: Pack,
  files: Sorted,
  primary: string | undefined,
  { guide, configured = [] }: CandidateFacts,
): readonly (readonly string[])[] {
  const facts = [...files.split, ...files.view, ...files.document, ...files.wiki]
  const boundaries = files.view.filter((path) => pack.header.mode === 'persona' || /^boundaries\b/i.test(stemOf(path)))
  const named = new Set(guide.match(factPath))
  const mapped = facts.filter((path) => named.has(path))
  const given = facts.filter((path) => configured.some((start) => path === start || isBelow(path, start)))
  const start = primary !== undefined ? [primary] : mapped.length > 0 ? mapped : given
  const first = start.length > 0 ? [...start, ...boundaries] : []
  return [first, [...mapped, ...files.view, ...files.split], [...files.wiki, ...files.document]]
}

const factPath = /(?:documents|wiki|compiled)\/[^\s()[\]{}<>"'`|,;#*]+/g

const isBelow = (path: string, folder: string): boolean => folder.endsWith('/') && path.startsWith(folder)

/** Action types, logs, gates, signals and monitoring are no facts about anything: they are not even opened. */
function isRecord(path: string, { header }: Pack): boolean {
  const named = [header.primaryOntology, header.primaryAnswers].some((key) => packPath(key ?? '') === path)
  return (named && !operational.test(stemOf(path))) || known.test(path)
}

const known =
  /^(?:ontology\/(?:ontology|concepts|relations|claims|evidence|constraints)|answers\/(?:questions|answer-blocks|citation-targets))\.json$/
const operational = /action|monitoring|gate|signal|feedback/i

function escapes({ header, id }: Pack): readonly Diagnostic[] {
  const { primaryDocument, primaryOntology, primaryAnswers } = header
  return Object.entries({ primaryDocument, primaryOntology, primaryAnswers }).flatMap(([key, path]) =>
    path === undefined || packPath(path) !== undefined
      ? []
      : [diagnostic('path-escape', entryName, leadsOut(`metadata.${key}`, path), { pack: id })],
  )
}

function gaps({ header, id }: Pack, files: Sorted, primary: string | undefined): readonly Diagnostic[] {
  // One that leads out of the pack names no document at all.
  const named = packPath(header.primaryDocument ?? '')
  const missing = (message: string): readonly Diagnostic[] => [
    diagnostic('primary-missing', named ?? 'documents/', message, { pack: id }),
  ]
  if (named !== undefined && primary === undefined) return missing('the primary document is not there')
  if (header.profile === 'document-first' && files.document.length + files.split.length === 0)
    return missing('the pack keeps its facts in documents and has none')
  if (header.profile === 'document-first' && named === undefined && files.document.length > 1)
    return missing('the pack does not say which document is the primary one')
  if (header.profile === 'wiki-first' && files.view.length + files.split.length + files.wiki.length === 0)
    return missing('the pack has no views and no wiki pages')
  return []
}

/** One finding for each document that is gone. */
function orphans({ id }: Pack, { document }: Sorted, splits: Candidates['splits']): readonly Diagnostic[] {
  const says = document.length > 0 ? 'its splits are not used' : 'nothing shows whether its splits are still true'
  const gone = new Map([...splits].flatMap(([path, one]) => (one.isGone ? [[one.document, folderOf(path)]] : [])))
  return [...gone].map(([path, folder]) =>
    diagnostic('split-orphaned', folder, `${quote(path)} is not in the pack: ${says}`, { pack: id }),
  )
}
