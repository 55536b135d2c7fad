import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { divide, type Range } from './divide.ts'
import { estimateTokens } from './estimate.ts'
import { type Heading, type Outline, outlineOf } from './headings.ts'
import { stemOf } from './layout.ts'
import { type CountTokens, type FileIndex, type Section, withHeadings } from './section.ts'
import { makeSectionTerms } from './section-terms.ts'

/**
 * Divides the text of a file into sections. They name bytes of this text as UTF-8, so that later only the chosen ones
 * are read; whoever reads them counts from where the text began.
 */
export function indexFile(path: string, text: string, count: CountTokens = estimateTokens): FileIndex {
  const { terms, add } = makeSectionTerms()
  const sections: Section[] = []
  const place = makePlaces(text)
  const slugs = new Map<string, number>()
  const outline = outlineOf(text)
  for (const { headings, from, lineFrom, to } of spansOf(text, outline)) {
    if (sections.length >= limits.knowledgeSectionsMax) break
    const slug = uniqueSlug(headings.at(-1) ?? 'start', slugs)
    const parts = partsOf(text.slice(from, to), headings, count)
    for (const [part, { range, tokens }] of parts.entries()) {
      const body = text.slice(from + range.from, from + range.to)
      add(`${stemOf(path)} ${headings.join(' ')}`, body)
      const begin = place(part === 0 ? lineFrom : from + range.from).line
      const bytesFrom = place(from + range.from).byte
      const end = place(from + range.from + body.trimEnd().length)
      sections.push({
        id: part === 0 ? slug : `${slug}.${part + 1}`,
        slug,
        headings,
        from: bytesFrom,
        to: end.byte,
        firstLine: begin,
        lastLine: end.line,
        tokens,
        digest: sectionDigest(headings, body),
        marks: marksIn(body),
      })
    }
  }
  const cut = sections.length >= limits.knowledgeSectionsMax
  const titles = outline.headings.length > limits.knowledgeSectionsMax ? undefined : outline.headings
  const headings = titles && new Set([...titles.map(({ title }) => slugOf(title)), ...sections.map(({ slug }) => slug)])
  const places = { lines: place(text.length).line, headings }
  return { path, digest: sha256(text), sections, terms, places, ...(cut && { cut }) }
}

/**
 * Equal for equal texts under equal headings, whatever their blanks: a text may mean something else under another one.
 * Only the last heading counts, for a split may leave out those above it.
 */
export const sectionDigest = (headings: readonly string[], body: string): string =>
  sha256([headings.at(-1) ?? '', body].map((text) => text.trim().replace(/\s+/g, ' ')).join('\n'))

interface Span {
  readonly headings: readonly string[]
  /** Where the heading begins, where the text under it begins, and where it ends. */
  readonly lineFrom: number
  readonly from: number
  readonly to: number
}

/** What stands under each heading; a heading with nothing under it is only part of the path of others. */
function spansOf(text: string, { start, headings }: Outline): readonly Span[] {
  const spans: Span[] = []
  const open: Heading[] = []
  let begun: Omit<Span, 'to'> = { headings: [], lineFrom: start, from: start }
  const close = (to: number): void => {
    if (/\S/.test(text.slice(begun.from, to))) spans.push({ ...begun, to })
  }
  for (const heading of headings) {
    close(heading.from)
    while ((open.at(-1)?.level ?? 0) >= heading.level) open.pop()
    open.push(heading)
    begun = { headings: open.map(titleOf).filter((title) => title !== ''), lineFrom: heading.from, from: heading.to }
  }
  close(text.length)
  return spans
}

const titleOf = ({ title }: Heading): string =>
  [...title.slice(0, 2 * limits.knowledgeHeadingCharsMax)].slice(0, limits.knowledgeHeadingCharsMax).join('')

/** The parts of a section with their tokens as sent; one that fits is not divided, however it was estimated. */
function partsOf(
  body: string,
  headings: readonly string[],
  count: CountTokens,
): readonly { readonly range: Range; readonly tokens: number }[] {
  const sent = ({ from, to }: Range): number => count(withHeadings(headings, body.slice(from, to)))
  const whole = { from: 0, to: body.length }
  const tokensMax = limits.knowledgeSectionTokensMax
  // Counting a text of megabytes only to learn that it is too long would double the work.
  if (estimateTokens(body) <= 2 * tokensMax) {
    const tokens = sent(whole)
    if (tokens <= tokensMax) return [{ range: whole, tokens }]
  }
  const room = Math.max(tokensMax / 2, tokensMax - estimateTokens(headings.join(' > ')) - 2)
  return divide(body, room)
    .filter(({ from, to }) => /\S/.test(body.slice(from, to)))
    .map((range) => ({ range, tokens: sent(range) }))
}

/** Where a character stands, as byte and line; asked in rising order, so that the text is passed over once. */
function makePlaces(text: string): (at: number) => { readonly byte: number; readonly line: number } {
  let place = { at: 0, byte: 0, line: 1 }
  return (at) => {
    const from = at < place.at ? { at: 0, byte: 0, line: 1 } : place
    const passed = text.slice(from.at, at)
    place = { at, byte: from.byte + Buffer.byteLength(passed), line: from.line + lineEnds(passed) }
    return place
  }
}

const lineEnds = (text: string): number => text.match(/\r\n|\n|\r/g)?.length ?? 0

/** The second `name` of a file is `name-2`. */
function uniqueSlug(title: string, taken: Map<string, number>): string {
  const slug = slugOf(title)
  let number = taken.get(slug) ?? 1
  let unique = number === 1 ? slug : `${slug}-${number}`
  while (taken.has(unique)) unique = `${slug}-${++number}`
  // Remembered, or a file of equal headings would take quadratic time.
  taken.set(slug, number + 1)
  if (unique !== slug) taken.set(unique, 2)
  return unique
}

/** Letters and digits in lower case, with hyphens between them. */
export const slugOf = (title: string): string =>
  title
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu)
    ?.join('-')
    .slice(0, limits.knowledgeHeadingCharsMax) ?? 'section'

/** The sources that a text names as its own. */
const marksIn = (text: string): readonly string[] =>
  text.includes('sources/') ? [...new Set(text.match(mark))].slice(0, limits.knowledgeMarksMax) : []

const mark = /(?<![\p{L}\p{N}_./-])sources\/[^\s()[\]{}<>"'`|,;*\\]*[^\s()[\]{}<>"'`|,;*\\.:!?]/gu
