/** One document: the terms of each of its fields, in the order of `fields` of the index. */
export type FieldTerms = readonly (readonly string[])[]

export interface FieldOptions {
  readonly weight: number
  /** How much a long field counts less, from 0 to 1. */
  readonly b: number
}

export interface IndexOptions {
  readonly fields: readonly FieldOptions[]
  /** How slowly repetition stops counting. */
  readonly k1: number
  /** How much of its rarity a term keeps, 1 when absent: for words that are rare here and common elsewhere. */
  readonly keep?: (term: string) => number
  /** Rarity is reckoned as among at least this many documents: in a few, nothing would look rare. */
  readonly documentsMin?: number
}

export interface Index {
  /** The score of each document, in the order they came in. Repeated terms count once, each as much as it is stressed. */
  score(terms: readonly string[], stress?: (term: string) => number): Float64Array
  /** What a match of the term is worth at most; terms of no document are worth most. */
  weight(term: string): number
  has(term: string): boolean
  /** How much of the worth of the term the document gets, from 0 to 1. */
  share(term: string, document: number): number
}

/** BM25 over fields: a term counts by its weight in each field first and is dampened once, over all fields together. */
export function makeIndex(documents: readonly FieldTerms[], options: IndexOptions): Index {
  const postings = post(documents, options)
  const keep = options.keep ?? (() => 1)
  const weights = new Map<string, number>()
  const all = Math.max(documents.length, options.documentsMin ?? 0)
  const rarity = (found: number) => Math.log(1 + (all - found + 0.5) / (found + 0.5))
  for (const [term, found] of postings) weights.set(term, rarity(found.size) * keep(term))

  const weight = (term: string) => weights.get(term) ?? rarity(0) * keep(term)
  const share = (term: string, document: number) => dampen(postings.get(term)?.get(document) ?? 0, options.k1)
  return {
    weight,
    share,
    has: (term) => postings.has(term),
    score(terms, stress = () => 1) {
      const scores = new Float64Array(documents.length)
      for (const term of new Set(terms)) {
        const worth = weight(term) * stress(term)
        for (const [document, count] of postings.get(term) ?? []) {
          scores[document] = (scores[document] ?? 0) + worth * dampen(count, options.k1)
        }
      }
      return scores
    },
  }
}

const dampen = (count: number, k1: number): number => count / (k1 + count)

/** For each term the documents that have it, each with its weighted count. */
function post(
  documents: readonly FieldTerms[],
  { fields }: IndexOptions,
): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const postings = new Map<string, Map<number, number>>()
  for (const [at, { weight, b }] of fields.entries()) {
    const lengths = documents.map((document) => document[at]?.length ?? 0)
    const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length) || 1
    for (const [index, document] of documents.entries()) {
      const unit = weight / (1 - b + (b * (lengths[index] ?? 0)) / mean)
      for (const term of document[at] ?? []) {
        const found = postings.get(term) ?? new Map<number, number>()
        postings.set(term, found.set(index, (found.get(index) ?? 0) + unit))
      }
    }
  }
  return postings
}

/** What terms are worth together. */
export const sumOf = (terms: readonly string[], value: (term: string) => number): number =>
  terms.reduce((sum, term) => sum + value(term), 0)
