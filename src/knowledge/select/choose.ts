import { limits } from '../../base/limits.ts'
import { fence } from '../../fence/fence.ts'
import { type Diagnostic, diagnostic, distinct } from '../diagnostic.ts'
import type { Pack } from '../pack.ts'
import { estimateTokens } from './estimate.ts'
import { evidenceFor } from './evidence.ts'
import { fill, type PackOffers } from './fill.ts'
import { outlineOf } from './headings.ts'
import { kept } from './kept.ts'
import { isContext, saysWhereItStops, splitOf } from './layout.ts'
import { missingFacts } from './missing.ts'
import { type Candidate, type Competition, compete, drop } from './offers.ts'
import { runFindings } from './run-findings.ts'
import type { CountTokens } from './section.ts'
import { queryTerms } from './section-rank.ts'
import type { Choice, ChosenPack, ChosenSection, DroppedSection, SelectionRequest } from './selection.ts'
import { type OpenedPack, openPack } from './tiers.ts'
import { noRoomFor, packFence, warningParts, warningTokens } from './warnings.ts'

/** What of the active packs answers the query within the budget, and why. The texts are read afterwards. */
export function choose(request: SelectionRequest): Choice {
  const { budget } = request
  const terms = queryTerms([request.query, ...(request.required ?? [])].join(' '))
  const packs = request.packs.map((facts) => openPack(facts, terms))
  const wanted = packs.filter((opened) => opened.wanted.length > 0)
  if (wanted.length > 0)
    return { ...nothing, wanted: wanted.map(({ facts, wanted: paths }) => ({ pack: facts.pack.id, paths })) }

  const competitions = compete(packs, terms)
  const { taken, left } = fillWith(competitions, budget, request)
  const chosen = competitions.map((one) => sectionsOf(one, taken))
  const dropped = competitions.flatMap((one, at) => [...one.dropped, ...leftOut(one, chosen[at] ?? [])])
  const evidence = evidenceFor(packs, chosen, left, request.evidence === true)
  const complete = packs.map((opened, at) => packOf(opened, evidence.sections[at] ?? []))
  return {
    wanted: evidence.wanted,
    packs: complete.filter(({ sections }) => sections.length > 0).sort(personasFirst),
    dropped,
    missing: missingFacts(request, packs, complete),
    diagnostics: [
      ...complete.flatMap(({ warnings, sections }) =>
        distinct([...warnings, ...sections.flatMap((section) => section.warnings)]),
      ),
      ...competitions
        .filter((one, at) => one.candidates.length > 0 && chosen[at]?.length === 0)
        .map(({ opened }) => noRoomFor(opened.facts.pack)),
    ],
  }
}

const nothing: Choice = { wanted: [], packs: [], dropped: [], missing: [], diagnostics: [] }

function fillWith(
  competitions: readonly Competition[],
  budget: number,
  { count = estimateTokens }: SelectionRequest,
): { readonly taken: ReadonlySet<Candidate>; readonly left: number } {
  const offers = competitions.map((one): PackOffers<Candidate> => {
    const { pack } = one.opened.facts
    const warnings = warningParts(warningsOf(one.opened, [])).length * warningTokens
    const opening = one.constraints.reduce((sum, { tokens }) => sum + tokens, shellTokens(pack, count) + warnings)
    return { pack: pack.id, persona: pack.header.mode === 'persona', opening, offers: one.candidates }
  })
  const { taken, tokens } = fill(offers, budget)
  // Where not even one section fits, a paragraph of the best one may.
  const best = competitions.flatMap(({ candidates }) => candidates.slice(0, 1)).slice(0, 1)
  return { taken: new Set(taken.length > 0 ? taken : best), left: budget - tokens }
}

/** What a wrapper costs with nothing in it, and what parts it from the next. */
const shellTokens = kept(
  (pack: Pack, count: CountTokens) => 2 + count(fence({ ...packFence(pack), parts: [], seed: noSeed }).text),
)

/** Only for counting: what is written in the end has a seed of its own. */
const noSeed = new Uint8Array(16)

function sectionsOf({ constraints, candidates }: Competition, taken: ReadonlySet<Candidate>): readonly ChosenSection[] {
  const facts = candidates.filter((candidate) => taken.has(candidate))
  return facts.length === 0 ? [] : [...constraints, ...facts]
}

function leftOut(
  { constraints, candidates }: Competition,
  chosen: readonly ChosenSection[],
): readonly DroppedSection[] {
  const sent = new Set(chosen)
  return [...constraints, ...candidates].filter((one) => !sent.has(one)).map((one) => drop(one, 'budget'))
}

function packOf(opened: OpenedPack, sections: readonly ChosenSection[]): ChosenPack {
  const { pack, activation } = opened.facts
  return { pack, activation, sections, warnings: warningsOf(opened, sections) }
}

/** What a reader must know of the pack as a whole. */
export function warningsOf(
  { facts, candidates, groups }: OpenedPack,
  sections: readonly ChosenSection[],
): readonly Diagnostic[] {
  const { pack, runs = [], warnings = [] } = facts
  // A run may have found something in the split of a section.
  const files = new Set(sections.flatMap(({ path, section }) => [path, splitOf(path, section.slug)]))
  return distinct([
    ...warnings,
    ...candidates.diagnostics,
    ...boundariesOf(facts),
    ...groups.flatMap(({ files }) => files.files.filter(({ cut }) => cut)).map(({ path }) => cutIn(pack.id, path)),
    ...runFindings(pack.id, runs, files),
  ])
}

const cutIn = (pack: string, path: string): Diagnostic =>
  diagnostic('scan-limit', path, `only ${limits.knowledgeSectionsMax} sections of the file are used`, { pack })

function boundariesOf({ pack, paths, guide, files }: OpenedPack['facts']): readonly Diagnostic[] {
  if (pack.header.mode !== 'persona' || saysWhereItStops(paths, titlesIn(guide, files))) return []
  return [diagnostic('persona-boundaries', '', 'the persona does not say where it stops', { pack: pack.id })]
}

/** Headings are known of the guide and of what is open. */
function* titlesIn(guide: string, files: OpenedPack['facts']['files']): Generator<string> {
  for (const { title } of outlineOf(guide).headings) yield title
  for (const { path, sections } of files.values()) {
    if (isContext(path)) for (const { headings } of sections) yield* headings
  }
}

const personasFirst = (a: ChosenPack, b: ChosenPack): number => Number(isPersona(b)) - Number(isPersona(a))
const isPersona = ({ pack }: ChosenPack): boolean => pack.header.mode === 'persona'
