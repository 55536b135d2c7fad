/**
 * The numbers that ranking and deciding depend on. A change of any takes a new version, and so does a change of how
 * text is read or which words are common: what was decided before was decided by other numbers.
 */
export interface Calibration {
  readonly version: string
  readonly weights: {
    /** Of names and code in a question; plain words have 1. */
    readonly stress: number
    /** How slowly repetition in a pack stops counting. */
    readonly k1: number
    /** Of the fields of a pack; the description has 1. */
    readonly name: number
    readonly initials: number
    readonly prompts: number
    /** Rarity is reckoned as among at least this many packs. */
    readonly catalogMin: number
    /** Of two words of a name that stand together in the question. */
    readonly together: number
    /** Of the nearest prompt, of a pack that has very many; half of it at `neighboursHalf` prompts. */
    readonly neighbours: number
    readonly neighboursHalf: number
    /** How many of the nearest prompts are asked whether they agree. */
    readonly neighboursCount: number
    /** Below this score a lead counts for less than half. */
    readonly marginScale: number
    /** The share of the best score that another named pack needs to go along. */
    readonly alsoShare: number
  }
  /** A logistic function of what speaks for the pack; nothing that does counts against it. */
  readonly confidence: {
    readonly base: number
    readonly words: number
    readonly share: number
    readonly margin: number
    readonly named: number
    readonly agreement: number
    /** What is left of it when everyday words alone speak for the pack: too little to activate it. */
    readonly everyday: number
  }
  /** Below this confidence nothing is activated. */
  readonly threshold: number
}

/** Confidence and threshold are fitted by `scripts/calibrate-knowledge.ts`, on questions kept apart from what tests them. */
export const calibration: Calibration = {
  version: '1',
  weights: {
    stress: 2,
    k1: 2,
    name: 5,
    initials: 1,
    prompts: 0.3,
    catalogMin: 50,
    together: 0.5,
    neighbours: 10,
    neighboursHalf: 20,
    neighboursCount: 10,
    marginScale: 2,
    alsoShare: 0.6,
  },
  confidence: { base: -2.75, words: 1.04, share: 0.79, margin: 4.19, named: 0.53, agreement: 0, everyday: 0.5 },
  threshold: 0.53,
}
