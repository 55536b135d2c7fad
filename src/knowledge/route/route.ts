import { byUnit } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { calibration } from './calibration.ts'
import { type Measured, makeMeasure } from './measure.ts'
import type { Routable } from './routable.ts'

export type { Routable }

export interface Ranked extends Measured {
  /** How likely the question is about this pack, from 0 to 1. */
  readonly confidence: number
  /** Lead over the best other pack, from -1 to 1; negative behind it. */
  readonly margin: number
}

export interface Routing {
  readonly activated: readonly Ranked[]
  readonly considered: readonly Ranked[]
  readonly threshold: number
  /** What the best pack lacks to the threshold: 0 when it was activated, all of it when nothing speaks for any pack. */
  readonly shortBy: number
  /** The version of the numbers this was decided by. */
  readonly calibration: string
}

export interface Router {
  /** The packs that anything speaks for, best first. */
  rank(query: string): readonly Ranked[]
  decide(query: string): Routing
}

/** Which pack a question is about, if any. Equal packs in any order give equal answers. */
export function makeRouter(packs: readonly Routable[]): Router {
  const sorted = packs.toSorted((a, b) => byUnit(a.name, b.name) || byUnit(a.id, b.id))
  const measure = makeMeasure(sorted)
  const rank = (query: string) => rankAll(measure(query.slice(0, limits.knowledgeQueryCharsMax)))
  return { rank, decide: (query) => decide(rank(query)) }
}

function rankAll(measured: readonly Measured[]): readonly Ranked[] {
  const sorted = measured.toSorted((a, b) => b.score - a.score)
  return sorted.map((one, at) => {
    const rival = sorted[at === 0 ? 1 : 0]?.score ?? 0
    const margin = Math.max(-1, (one.score - rival) / (one.score + calibration.weights.marginScale))
    return { ...one, margin, confidence: confidenceOf({ ...one, margin }) }
  })
}

function confidenceOf(one: Measured & { readonly margin: number }): number {
  const by = calibration.confidence
  const evidence = [
    by.base,
    by.words * Math.log1p(one.byWords),
    by.share * one.share,
    by.margin * one.margin,
    by.named * Number(one.named),
    by.agreement * one.agreement,
  ]
  const likely = 1 / (1 + Math.exp(-evidence.reduce((sum, part) => sum + part)))
  return one.distinct ? likely : likely * by.everyday
}

function decide(ranked: readonly Ranked[]): Routing {
  const { threshold, version } = calibration
  const [best] = ranked
  const sure = best !== undefined && best.confidence >= threshold
  return {
    activated: sure ? [best, ...alsoNamed(best, ranked)] : [],
    considered: ranked,
    threshold,
    shortBy: sure ? 0 : threshold - (best?.confidence ?? 0),
    calibration: version,
  }
}

/** Another pack goes along only where the question names both, by different words, and speaks of it nearly as much. */
function alsoNamed(best: Ranked, ranked: readonly Ranked[]): readonly Ranked[] {
  const least = best.score * calibration.weights.alsoShare
  const near = ranked.slice(1).filter((one) => one.named && one.score >= least)
  const taken: Ranked[] = []
  for (const one of best.named ? near : []) {
    const words = [best, ...taken].flatMap(({ namedBy }) => namedBy)
    if (one.namedBy.every((term) => !words.includes(term))) taken.push(one)
  }
  return taken.slice(0, limits.knowledgeAlsoNamedMax)
}
