import { quote } from '../../base/failure.ts'
import type { ClaimState, SourceMap } from '../../model/knowledge/records.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { packPath } from '../pack-path.ts'
import type { Candidates } from './candidates.ts'
import { placeOf, splitOf } from './layout.ts'
import type { FileIndex, Section } from './section.ts'

/** What is known about where a section comes from. */
export interface Origin {
  /** Places of evidence that are there, each once. */
  readonly anchors: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

export interface Origins {
  of(file: FileIndex, section: Section): Origin
  /** Whether a claim that went into this file is stale or disputed. */
  isFlagged(path: string): boolean
}

type Claim = SourceMap['claims'][number]
type MappedSection = NonNullable<SourceMap['document_sections']>[number]

/** The source map of a pack by the files its claims went into. `paths` are all files of the pack. */
export function makeOrigins(
  pack: string,
  map: SourceMap | undefined,
  paths: ReadonlySet<string>,
  splits: Candidates['splits'],
): Origins {
  const targets = (item: Claim | MappedSection): readonly string[] => [
    ...(item.compiled_into ?? []).map((target) => {
      const source = splits.get(packPath(pathOf(target)) ?? '')
      return source === undefined || source.isGone ? target : `${source.document}#${source.section}`
    }),
    ...inDocument(item.document, item.section_id),
  ]
  const claims = byTarget(map?.claims ?? [], targets)
  const sections = byTarget(map?.document_sections ?? [], targets)
  return {
    of: ({ path, places }, section) => {
      const reaches = ({ slug }: { readonly slug: string | undefined }) => slug === undefined || slug === section.slug
      // Where the section that a claim in doubt went into is gone, its text may stand under any heading.
      const isLost = ({ item, slug = '' }: Reaching<Claim>) =>
        item.status !== 'confirmed' && places.headings?.has(slug) === false
      const found = (claims.get(path) ?? []).filter((one) => reaches(one) || isLost(one)).map(({ item }) => item)
      const mapped = (sections.get(path) ?? []).filter(reaches).map(({ item }) => item)
      return originOf(pack, path, section, found, mapped, paths)
    },
    isFlagged: (path) =>
      (claims.get(path) ?? []).some(({ item }) => item.status === 'stale' || item.status === 'disputed'),
  }
}

/** Something of the source map, and the section of the file that it went into; none where that is not said. */
interface Reaching<T> {
  readonly item: T
  readonly slug: string | undefined
}

function byTarget<T>(items: readonly T[], targets: (item: T) => readonly string[]): ReadonlyMap<string, Reaching<T>[]> {
  const reaching = items.flatMap((item) =>
    [...new Set(targets(item))].map((target) => {
      const [named = '', slug] = target.split('#', 2)
      return { item, slug, path: packPath(named) ?? '' }
    }),
  )
  return Map.groupBy(reaching, ({ path }) => path)
}

/** A section of a document, and the split that holds it. */
function inDocument(document: string | undefined, section: string | undefined): readonly string[] {
  if (document === undefined) return []
  if (section === undefined) return [document]
  return [`${document}#${section}`, splitOf(document, section)]
}

function originOf(
  pack: string,
  path: string,
  section: Section,
  claims: readonly Claim[],
  sections: readonly MappedSection[],
  paths: ReadonlySet<string>,
): Origin {
  if (claims.length + sections.length + section.marks.length === 0) return unknown
  const claimed = claims.filter(({ status }) => !sourceless.has(status)).map(({ source }) => written(source))
  const mapped = sections.flatMap(({ source_anchors }) => source_anchors ?? [])
  const sources = claimed.flatMap((anchor) => insideOf(anchor) ?? [])
  const named = [
    // Lines of the file itself are known better than the map knows them, which may be older.
    ...mapped
      .flatMap((anchor) => insideOf(anchor) ?? [])
      .map((anchor) => (pathOf(anchor) === path ? `${path}#L${section.firstLine}` : anchor)),
    // What prose seems to name is no declaration: if it leads out of the pack, it is simply not there.
    ...section.marks.map((mark) => insideOf(mark) ?? mark),
  ]
  const isThere = (anchor: string): boolean => isEvidence(anchor, paths)
  return {
    anchors: [...new Set([...sources, ...named])].filter(isThere),
    diagnostics: [
      ...flagged(claims).map(([state, count]) =>
        diagnostic(`claim-${state}`, path, `${claimsOf(count)} in \`${section.id}\` ${says[state]}`, { pack }),
      ),
      ...few([...claimed, ...mapped].filter((anchor) => insideOf(anchor) === undefined)).map((anchor) =>
        diagnostic('path-escape', path, `${quote(anchor)} leads out of the pack`, { pack }),
      ),
      ...few(sources.filter((source) => !isThere(source)).map(pathOf)).map((source) =>
        diagnostic('source-missing', source, `the source of a claim in \`${path}\` is not there`, { pack }),
      ),
      ...few(named.filter((anchor) => !isThere(anchor))).map((anchor) =>
        diagnostic('anchor-missing', path, `\`${anchor}\` is not there`, { pack }),
      ),
    ],
  }
}

/** Such claims say themselves that they have no source. */
const sourceless: ReadonlySet<ClaimState> = new Set(['missing', 'source-required'])

const unknown: Origin = { anchors: [], diagnostics: [] }

/** Evidence and documents may be pointed at, if they are files of the pack. */
const isEvidence = (anchor: string, paths: ReadonlySet<string>): boolean => {
  const path = pathOf(anchor)
  const place = placeOf(path)
  return paths.has(path) && (place !== undefined || path.startsWith('sources/'))
}

/** The file that an anchor points into. */
export const pathOf = (anchor: string): string => anchor.split('#', 1)[0] ?? ''

/** An anchor with its path as the pack lists it; undefined if it leads out of the pack. */
function insideOf(anchor: string): string | undefined {
  const named = pathOf(anchor)
  const path = packPath(named)
  return path === undefined ? undefined : path + anchor.slice(named.length)
}

const written = ({ path, anchor }: { readonly path: string; readonly anchor?: string | undefined }): string =>
  anchor === undefined || anchor === '' ? path : `${path}#${anchor.replace(/^#/, '')}`

const few = (places: readonly string[]): readonly string[] => [...new Set(places)].slice(0, findingsShown)
const findingsShown = 3

type Flagged = Exclude<ClaimState, 'confirmed'>

function flagged(claims: readonly Claim[]): readonly (readonly [Flagged, number])[] {
  const counts = new Map<Flagged, number>()
  for (const { status } of claims) if (status !== 'confirmed') counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
}

const claimsOf = (count: number): string => (count === 1 ? 'a claim' : `${count} claims`)

const says: Readonly<Record<Flagged, string>> = {
  inferred: 'inferred, not stated by a source',
  disputed: 'in dispute',
  stale: 'out of date',
  missing: 'without its source',
  'source-required': 'still waiting for a source',
}
