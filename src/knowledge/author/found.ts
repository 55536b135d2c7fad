/** A place in a text, and what was found there. */
export interface Found {
  /** From 1. */
  readonly line: number
  readonly kind: string
}

/** Each kind once a line, in the order of the lines. */
export const distinct = (found: readonly Found[]): readonly Found[] =>
  [...new Map(found.map((each) => [`${each.line} ${each.kind}`, each])).values()].sort((a, b) => a.line - b.line)
