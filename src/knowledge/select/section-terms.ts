import { termsOf } from '../route/words.ts'
import type { SectionTerms } from './section.ts'

/** Collects the terms of the sections of one file, in their order, in whatever language: a query is read the same way. */
export function makeSectionTerms(): {
  readonly terms: SectionTerms
  add(heading: string, body: string): void
} {
  const postings = new Map<string, number[]>()
  const headingLengths: number[] = []
  const bodyLengths: number[] = []
  return {
    terms: { postings, headingLengths, bodyLengths },
    add(heading, body) {
      const section = bodyLengths.length
      const inHeading = termsOf(heading)
      const inBody = termsOf(body)
      for (const term of inHeading) note(postings, term, section, 1)
      for (const term of inBody) note(postings, term, section, 2)
      headingLengths.push(inHeading.length)
      bodyLengths.push(inBody.length)
    },
  }
}

function note(postings: Map<string, number[]>, term: string, section: number, field: 1 | 2): void {
  const found = postings.get(term) ?? []
  if (found.length === 0) postings.set(term, found)
  if (found[found.length - 3] !== section) found.push(section, 0, 0)
  const at = found.length - 3 + field
  found[at] = (found[at] ?? 0) + 1
}
