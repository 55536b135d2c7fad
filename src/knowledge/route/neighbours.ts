import { makeIndex, sumOf } from './bm25.ts'
import { calibration } from './calibration.ts'
import { keepOf } from './common-words.ts'
import type { Question } from './question.ts'
import { promptTerms, type Routable } from './routable.ts'

/** How near the prompts of a pack are to a question, each from 0 to 1. */
export interface Nearness {
  /** The nearest prompt that should select the pack, and the nearest that should not. */
  readonly select: number
  readonly reject: number
  /** The share of the pack among the nearest prompts of all packs, as far as its own is near at all. */
  readonly agreement: number
}

interface Prompt {
  /** Place of the pack in the list. */
  readonly pack: number
  readonly selects: boolean
  readonly terms: readonly string[]
}

/** Answers for each pack, in the order they came in. */
export function makeNeighbours(packs: readonly Routable[]): (question: Question) => readonly Nearness[] {
  const prompts = packs.flatMap((pack, at) => [
    ...promptTerms(pack, pack.select).map((terms) => ({ pack: at, selects: true, terms })),
    ...promptTerms(pack, pack.reject).map((terms) => ({ pack: at, selects: false, terms })),
  ])
  const index = makeIndex(
    prompts.map((prompt) => [prompt.terms]),
    { fields: [{ weight: 1, b: 0 }], k1: 0, keep: keepOf, documentsMin: calibration.weights.catalogMin },
  )
  const lengths = prompts.map(({ terms }) => sumOf([...new Set(terms)], index.weight))
  return (question) => {
    const length = sumOf(question.terms, (term) => index.weight(term) * question.stress(term))
    // The weight of what both have against what each has: 1 where they are the same.
    const near = index
      .score(question.terms, question.stress)
      .map((score, at) => (score === 0 ? 0 : Math.min(1, score / Math.sqrt(length * (lengths[at] ?? 1)))))
    return tally(packs.length, prompts, near)
  }
}

function tally(packs: number, prompts: readonly Prompt[], near: Float64Array): readonly Nearness[] {
  const floor = leastOf(near, calibration.weights.neighboursCount)
  const best = { select: new Float64Array(packs), reject: new Float64Array(packs), votes: new Float64Array(packs) }
  for (const [at, { pack, selects }] of prompts.entries()) {
    const value = near[at] ?? 0
    const side = selects ? best.select : best.reject
    side[pack] = Math.max(side[pack] ?? 0, value)
    if (selects && value > 0 && value >= floor) best.votes[pack] = (best.votes[pack] ?? 0) + value ** 2
  }
  const all = best.votes.reduce((sum, vote) => sum + vote, 0) || 1
  return Array.from(best.votes, (vote, at) => ({
    select: best.select[at] ?? 0,
    reject: best.reject[at] ?? 0,
    agreement: (vote / all) * (best.select[at] ?? 0),
  }))
}

/** The least of the `count` highest values. */
function leastOf(values: Float64Array, count: number): number {
  const highest: number[] = []
  for (const value of values) {
    if (highest.length === count && value <= (highest[0] ?? 0)) continue
    highest.push(value)
    highest.sort((a, b) => a - b)
    if (highest.length > count) highest.shift()
  }
  return highest[0] ?? 0
}
