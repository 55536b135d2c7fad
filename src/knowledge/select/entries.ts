import type { PackMode } from '../../model/knowledge/knowledge.ts'
import { entryName } from '../discover/header.ts'
import { kept } from './kept.ts'
import { isBoundaries, type Place, placeOf, stemOf } from './layout.ts'
import type { FileIndex, Section } from './section.ts'
import type { RankedSection } from './section-rank.ts'

/** A section with what it is worth to this pack. */
export interface Entry {
  readonly file: FileIndex
  readonly tier: number
  readonly place: Place
  readonly section: Section
  readonly score: number
  readonly matched: readonly string[]
  readonly role: 'fact' | 'overview'
}

/** A section that competes, with a match or, where it matters in any case, without. */
export function entryOf(mode: PackMode, found: RankedSection, tier: number): Entry {
  const { file, at, score, matched } = found
  const section = file.sections[at] as Section
  const { place, isPreferred } = traitsOf(file, mode)
  const worth = isPreferred || isAbout(mode, section) ? preferred(mode, score) : score
  return {
    file,
    tier,
    place,
    section,
    score: Math.max(leastScore, worth * tierShare ** tier),
    matched,
    role: matched.length > 0 && file.path !== entryName ? 'fact' : 'overview',
  }
}

/** The first sections of a file that do not match. */
export function standInsOf(file: FileIndex, ranked: readonly RankedSection[]): readonly RankedSection[] {
  const known = new Set(ranked.filter((one) => one.file === file).map(({ at }) => at))
  const first = [...file.sections.keys().take(standInsMax)].filter((at) => !known.has(at))
  return first.map((at) => ({ file, at, score: 0, matched: [] }))
}

/** Voice and limits of a persona matter whatever was asked; boundaries, a briefing or a guide where nothing better is found. */
export const standsIn = (mode: PackMode, path: string): boolean =>
  (mode === 'persona' && portrays.test(stemOf(path))) || isBoundaries(path) || isBriefing(path) || path === entryName

/** The best first; of equal ones by tier, path and place in the file, so that the order of files does not matter. */
export function byScore(a: Entry, b: Entry): number {
  if (a.score !== b.score) return b.score - a.score
  if (a.tier !== b.tier) return a.tier - b.tier
  if (a.file.path !== b.file.path) return a.file.path < b.file.path ? -1 : 1
  return a.section.from - b.section.from || (a.section.id < b.section.id ? -1 : 1)
}

/** A file that the pack would rather not be asked for has to be this much better. */
const tierShare = 0.9

/** Of what stands in without a match: too weak to be taken beside anything that has one. */
const leastScore = 1e-6

const standInsMax = 16
const isBriefing = (path: string): boolean => placeOf(path) === 'view' && /^(?:briefing|overview)\b/i.test(stemOf(path))

/** What the mode of a pack is for comes first. */
const preferred = (mode: PackMode, score: number): number => (mode === 'persona' ? score * 1.5 + 1 : score * 1.15)

const traitsOf = kept((file: FileIndex, mode: PackMode) => ({
  place: placeOf(file.path) ?? 'view',
  isPreferred: wordsOf(mode).test(stemOf(file.path)),
}))

const isAbout = (mode: PackMode, { headings }: Section): boolean => headings.some((title) => wordsOf(mode).test(title))
const wordsOf = (mode: PackMode): RegExp => (mode === 'persona' ? portrays : informs)

const portrays = /\b(?:voice|tone|style|values?|taboos?|boundar(?:y|ies)|limits?|usage|avoid)\b/i
const informs =
  /\b(?:facts?|procedures?|steps?|polic(?:y|ies)|parameters?|limits?|compliance|boundar(?:y|ies)|constraints?)\b/i
