import { quote } from '../../base/failure.ts'
import type { ClaimState, SourceMap } from '../../model/knowledge-records.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { packPath } from '../pack-path.ts'
import { placeOf, splitsOf } from './layout.ts'
import type { Section } from './section.ts'

/** What is known about where a section comes from. */
export interface Origin {
  /** Places of evidence that are there, each once. */
  readonly anchors: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
  readonly disputed: boolean
}

export interface Origins {
  of(path: string, section: Section): Origin
  /** Whether a claim that went into this file is stale or disputed. */
  isFlagged(path: string): boolean
}

type Claim = SourceMap['claims'][number]
type MappedSection = NonNullable<SourceMap['document_sections']>[number]

/** The source map of a pack by the files its claims went into. `paths` are all files of the pack. */
export function makeOrigins(pack: string, map: SourceMap | undefined, paths: ReadonlySet<string>): Origins {
  const claims = byTarget(map?.claims ?? [], (claim) => [
    ...(claim.compiled_into ?? []),
    ...inDocument(claim.document, claim.section_id),
  ])
  const sections = byTarget(map?.document_sections ?? [], (section) => [
    ...(section.compiled_into ?? []),
    ...inDocument(section.document, section.section_id),
  ])
  return {
    of: (path, section) =>
      originOf(pack, path, section, reaching(claims, path, section), reaching(sections, path, section), paths),
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
  return [`${document}#${section}`, `${splitsOf(document)}/${section}.md`]
}

const reaching = <T>(found: ReadonlyMap<string, Reaching<T>[]>, path: string, { slug }: Section): readonly T[] =>
  (found.get(path) ?? []).filter((one) => one.slug === undefined || one.slug === slug).map(({ item }) => item)

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
    ...mapped.flatMap((anchor) => insideOf(anchor) ?? []),
    // What prose seems to name is no declaration: if it leads out of the pack, it is simply not there.
    ...section.marks.map((mark) => insideOf(mark) ?? mark),
  ]
  const isThere = (anchor: string): boolean => isEvidence(anchor, paths)
  return {
    anchors: [...new Set([...sources, ...named])].filter(isThere),
    disputed: claims.some(({ status }) => status === 'disputed'),
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

const unknown: Origin = { anchors: [], diagnostics: [], disputed: false }

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
