/**
 * The numbers that ranking and deciding depend on. A change of any takes a new version, and so does a change of how
 * text is read or which words are common: what was decided before was decided by other numbers. Confidence and threshold
 * are fitted by `scripts/calibrate-knowledge.ts`, on questions kept apart from what tests them.
 */
export const calibration = {
  version: '1',
  weights: {
    /** Of names and code in a question; plain words have 1. */
    stress: 2,
    /** How slowly repetition in a pack stops counting. */
    k1: 2,
    /** Of the fields of a pack; the description has 1. */
    name: 5,
    initials: 1,
    prompts: 0.3,
    /** Rarity is reckoned as among at least this many packs. */
    catalogMin: 50,
    /** Of two words of a name that stand together in the question. */
    together: 0.5,
    /** Of the nearest prompt, of a pack that has very many; half of it at `neighboursHalf` prompts. */
    neighbours: 10,
    neighboursHalf: 20,
    /** How many of the nearest prompts are asked whether they agree. */
    neighboursCount: 10,
    /** Below this score a lead counts for less than half. */
    marginScale: 2,
    /** The share of the best score that another named pack needs to go along. */
    alsoShare: 0.6,
  },
  /**
   * A logistic function of what speaks for the pack; nothing that does counts against it. `everyday` is what is left of
   * it when everyday words alone speak for the pack: too little to activate it.
   */
  confidence: { base: -2.75, words: 1.04, share: 0.79, margin: 4.19, named: 0.53, agreement: 0, everyday: 0.5 },
  /** Below this confidence nothing is activated. */
  threshold: 0.53,
} as const
