import { limits } from '../../base/limits.ts'
import { diagnostic, distinct } from '../diagnostic.ts'
import { byScore, type Entry, entryOf, standInsOf } from './entries.ts'
import type { Offer } from './fill.ts'
import { isBoundaries } from './layout.ts'
import type { Section } from './section.ts'
import { type RankedSection, rankSections } from './section-rank.ts'
import type { ChosenSection, DroppedSection, DropReason, Reason } from './selection.ts'
import type { OpenedPack } from './tiers.ts'
import { warningTokens } from './warnings.ts'

/** A section that competes for a place. */
export type Candidate = Offer & ChosenSection

export interface Competition {
  readonly opened: OpenedPack
  /** From the best score down. */
  readonly candidates: readonly Candidate[]
  /** Sections that come along with whatever is taken. */
  readonly constraints: readonly Candidate[]
  readonly dropped: readonly DroppedSection[]
}

/** What competes in each pack: sections that match, and what the mode of the pack asks for in any case. */
export function compete(packs: readonly OpenedPack[], terms: readonly string[]): readonly Competition[] {
  const groups = packs.flatMap((opened) => opened.groups)
  const ranked = rankSections(
    groups.map(({ files }) => files),
    terms,
  )
  let done = 0
  const best = packs.map((opened) => {
    const from = done
    done += opened.groups.length
    return bestOf(opened, ranked.slice(from, done))
  })
  const copies = Map.groupBy(best.flat(), ({ section }) => section.digest)
  const seen = new Set<string>()
  return packs.map((opened, at) => competePack(opened, best[at] ?? [], copies, seen))
}

type Rival = Entry & { readonly opened: OpenedPack }

/** `ranked` has what was found in each group of the pack. */
function bestOf(opened: OpenedPack, ranked: readonly (readonly RankedSection[])[]): readonly Rival[] {
  const { mode } = opened.facts.pack.header
  const entries = opened.groups.flatMap(({ files, tier }, at) => {
    const found = ranked[at] ?? []
    const always = opened.standIns.size === 0 ? [] : files.files.filter(({ path }) => opened.standIns.has(path))
    const all = [...found, ...always.flatMap((file) => standInsOf(file, found))]
    return all.map((one) => ({ ...entryOf(mode, one, tier), opened }))
  })
  return entries.sort(byScore).slice(0, limits.knowledgeCandidatesMax)
}

/** `copies` has all places of a text, in whichever pack. */
function competePack(
  opened: OpenedPack,
  best: readonly Rival[],
  copies: ReadonlyMap<string, readonly Rival[]>,
  seen: Set<string>,
): Competition {
  const least = (best[0]?.score ?? 0) * weakShare
  const candidates: Candidate[] = []
  const constraints: Candidate[] = []
  const dropped: DroppedSection[] = []
  for (const [index, entry] of best.entries()) {
    const { digest } = entry.section
    const why = seen.has(digest) ? 'duplicate' : entry.score < least ? 'weak' : undefined
    const rank = index + 1
    if (why !== undefined)
      dropped.push(drop({ ...entry, pack: opened.facts.pack.id, path: entry.file.path, rank }, why))
    else {
      seen.add(digest)
      const candidate = candidateOf(entry, rank, copies.get(digest) ?? [])
      const limiting = constraints.length === 0 && limitsFacts(candidate)
      if (limiting) constraints.push({ ...candidate, role: 'constraint' })
      else candidates.push(candidate)
    }
  }
  // Limits without a fact beside them are what was asked for.
  if (candidates.length === 0)
    candidates.push(...constraints.splice(0).map((one) => ({ ...one, role: 'fact' as const })))
  return { opened, candidates, constraints, dropped }
}

/** What is this far behind the best of its pack answers something else. */
const weakShare = 0.3

/** The boundaries that speak of what was asked limit every fact that answers it. */
const limitsFacts = ({ path, matched }: Candidate): boolean => isBoundaries(path) && matched.length > 0

export function drop(
  { pack, path, section, tier, place, matched, score, rank }: Reason & Pick<ChosenSection, 'pack' | 'path' | 'section'>,
  why: DropReason,
): DroppedSection {
  return { pack, path, section: section.id, tier, place, matched, score, rank, why }
}

/** What is known of any copy of the text stays with the one that is sent; anchors are those of its own pack. */
export function candidateOf({ opened, file, ...entry }: Rival, rank: number, copies: readonly Rival[]): Candidate {
  const { pack } = opened.facts
  const { path, digest: fileDigest } = file
  const { section } = entry
  const known = copies.map(knownOf)
  const anchors = [...new Set(known.flatMap((one, at) => (copies[at]?.opened === opened ? one.anchors : [])))]
  const warnings = distinct(known.flatMap((one) => one.warnings))
  if (pack.header.grounding === 'required' && anchors.length === 0)
    warnings.push(diagnostic('ungrounded', path, `\`${section.id}\` names no source`, { pack: pack.id }))
  const tokens = section.tokens + elementTokens(path, section, anchors) + warnings.length * warningTokens
  return { ...entry, pack: pack.id, path, fileDigest, rank, anchors, warnings, tokens }
}

function knownOf({ opened, file, section }: Rival): Pick<ChosenSection, 'anchors' | 'warnings'> {
  const { anchors, diagnostics } = opened.origins.of(file, section)
  const { findings = [], unanchored } = section
  const said = unanchored === undefined || anchors.length > 0 ? findings : [...findings, unanchored]
  const pack = opened.facts.pack.id
  const told = said.map(({ code, message }) => diagnostic(code, file.path, message, { pack }))
  return { anchors, warnings: [...diagnostics, ...told] }
}

/** What the element around a section costs, about. */
export const elementTokens = (path: string, { id }: Section, anchors: readonly string[] = []): number =>
  16 + Math.ceil((path.length + id.length + Math.min(256, anchors.join(' ').length)) / 3)
