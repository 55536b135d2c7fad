import { limits } from '../../base/limits.ts'
import { termsOf } from '../route/words.ts'
import { fileAt, type JoinedFiles } from './joined-files.ts'
import type { FileIndex } from './section.ts'

/** A section that has at least one term of the query. */
export interface RankedSection {
  readonly file: FileIndex
  /** Its place among the sections of the file. */
  readonly at: number
  readonly score: number
  /** Terms of the query that it has, in their order. */
  readonly matched: readonly string[]
}

/** The terms that a query is judged by, each once. */
export const queryTerms = (query: string): readonly string[] =>
  [...new Set(termsOf(query.slice(0, limits.knowledgeQueryCharsMax)))].slice(0, limits.knowledgeQueryTermsMax)

/**
 * BM25 over headings and text: for each group of files its best sections, in their order. Groups are indexed one by one
 * and ranked together: how rare a term is and how long a section should be follows from all of them, so that scores of
 * different packs can be compared.
 */
export function rankSections(
  groups: readonly JoinedFiles[],
  terms: readonly string[],
): readonly (readonly RankedSection[])[] {
  const sums = sumUp(groups)
  const weights = terms.map((term) => rarity(sectionsWith(groups, term), sums.sections))
  return groups.map((group) => rankGroup(group, terms, weights, sums))
}

/** The terms that no section of the files has. */
export const uncovered = (groups: readonly JoinedFiles[], terms: readonly string[]): readonly string[] =>
  terms.filter((term) => !groups.some((group) => group.terms.postings.has(term)))

interface Sums {
  readonly sections: number
  readonly meanHeading: number
  readonly meanBody: number
}

function sumUp(groups: readonly JoinedFiles[]): Sums {
  let sections = 0
  let heading = 0
  let body = 0
  for (const group of groups) {
    sections += group.sections
    for (const length of group.terms.headingLengths) heading += length
    for (const length of group.terms.bodyLengths) body += length
  }
  return { sections, meanHeading: heading / sections || 1, meanBody: body / sections || 1 }
}

const sectionsWith = (groups: readonly JoinedFiles[], term: string): number =>
  groups.reduce((sum, { terms }) => sum + (terms.postings.get(term)?.length ?? 0) / 3, 0)

const rarity = (found: number, all: number): number => Math.log(1 + (all - found + 0.5) / (found + 0.5))

const k1 = 1.2
const headingWeight = 2
const headingB = 0.5
const bodyB = 0.75

/** A common word is in thousands of sections: only few become objects. */
function rankGroup(
  group: JoinedFiles,
  terms: readonly string[],
  weights: readonly number[],
  { meanHeading, meanBody }: Sums,
): readonly RankedSection[] {
  const { postings, headingLengths, bodyLengths } = group.terms
  const scores = new Float64Array(group.sections)
  for (const [order, term] of terms.entries()) {
    const weight = weights[order] ?? 0
    const list = postings.get(term) ?? []
    for (let at = 0; at < list.length; at += 3) {
      const section = list[at] ?? 0
      const inHeading = (list[at + 1] ?? 0) / (1 - headingB + (headingB * (headingLengths[section] ?? 0)) / meanHeading)
      const inBody = (list[at + 2] ?? 0) / (1 - bodyB + (bodyB * (bodyLengths[section] ?? 0)) / meanBody)
      const count = headingWeight * inHeading + inBody
      scores[section] = (scores[section] ?? 0) + (weight * count) / (k1 + count)
    }
  }
  const best = highest(scores, limits.knowledgeCandidatesMax * 2)
  const matched = matchesOf(group, terms, best)
  return best.map((section) => ({
    ...fileAt(group, section),
    score: scores[section] ?? 0,
    matched: matched.get(section) ?? [],
  }))
}

/** The places of the highest scores above zero, at most so many, in order; of equal ones the first. */
function highest(scores: Float64Array, countMax: number): readonly number[] {
  const found: number[] = []
  for (let at = 0; at < scores.length; at++) if ((scores[at] ?? 0) > 0) found.push(at)
  if (found.length <= countMax) return found
  const least = scores.toSorted()[scores.length - countMax] ?? 0
  const above = found.filter((at) => (scores[at] ?? 0) > least).length
  let ties = countMax - above
  return found.filter((at) => (scores[at] ?? 0) > least || (scores[at] === least && ties-- > 0))
}

function matchesOf(
  { terms: { postings } }: JoinedFiles,
  terms: readonly string[],
  sections: readonly number[],
): ReadonlyMap<number, readonly string[]> {
  const matched = new Map(sections.map((at): [number, string[]] => [at, []]))
  for (const term of terms) {
    const list = postings.get(term) ?? []
    for (let at = 0; at < list.length; at += 3) matched.get(list[at] ?? 0)?.push(term)
  }
  return matched
}
