import { estimateTokens } from './estimate.ts'
import { type Line, linesOf, makeFences } from './headings.ts'

/** A part of a text, from `from` up to `to`. */
export interface Range {
  readonly from: number
  readonly to: number
}

/**
 * The text in pieces of about `tokensMax` at most: cut between paragraphs, in a paragraph that is too long between lines
 * and sentences, in a sentence that is too long between words. A code fence is cut only if it is too long by itself, and
 * then between lines. The pieces together are the text.
 */
export function divide(text: string, tokensMax: number): readonly Range[] {
  const byWords = (range: Range) => gather(text, words(text, range, tokensMax), tokensMax, (word) => [word])
  return gather(text, paragraphs(text), tokensMax, (paragraph) =>
    gather(text, blocks(text, paragraph), tokensMax, (block) =>
      gather(text, block.fenced ? lines(text, block) : sentences(text, block), tokensMax, byWords),
    ),
  )
}

/** Neighbours joined as long as they stay within the limit; one that exceeds it alone is divided further. */
function gather<R extends Range>(
  text: string,
  ranges: Iterable<R>,
  tokensMax: number,
  further: (range: R) => readonly Range[],
): readonly Range[] {
  const out: Range[] = []
  let open: (Range & { readonly tokens: number }) | undefined
  for (const range of ranges) {
    const tokens = estimateTokens(text.slice(range.from, range.to))
    if (open !== undefined && open.tokens + tokens <= tokensMax) {
      open = { from: open.from, to: range.to, tokens: open.tokens + tokens }
      continue
    }
    if (open !== undefined) out.push({ from: open.from, to: open.to })
    open = undefined
    if (tokens <= tokensMax) open = { from: range.from, to: range.to, tokens }
    else out.push(...further(range))
  }
  if (open !== undefined) out.push({ from: open.from, to: open.to })
  return out
}

/** Each with the blank lines behind it. The blank lines of a code fence end no paragraph. */
export function* paragraphs(text: string): Generator<Range> {
  const fenceAt = makeFences()
  let from = 0
  let blank = false
  for (const line of linesOf(text)) {
    const empty = fenceAt(line.text) === undefined && line.text.trim() === ''
    if (blank && !empty) {
      yield { from, to: line.from }
      from = line.from
    }
    blank = empty
  }
  if (from < text.length) yield { from, to: text.length }
}

/** The code fences of a paragraph, and what stands between them. */
function* blocks(text: string, { from, to }: Range): Generator<Range & { readonly fenced: boolean }> {
  const fenceAt = makeFences()
  let start = from
  let fence: number | undefined
  for (const line of lines(text, { from, to })) {
    const next = fenceAt(line.text)
    if (next !== fence && line.from > start) {
      yield { from: start, to: line.from, fenced: fence !== undefined }
      start = line.from
    }
    fence = next
  }
  if (start < to) yield { from: start, to, fenced: fence !== undefined }
}

const lines = (text: string, { from, to }: Range): Iterable<Line> =>
  linesOf(text.slice(from, to)).map((line) => ({ text: line.text, from: from + line.from, to: from + line.to }))

function* sentences(text: string, { from, to }: Range): Generator<Range> {
  const end = /[.!?]["')\]]*\s+|[。！？｡]|[\r\n]+/g
  end.lastIndex = from
  let start = from
  for (let found = end.exec(text); found !== null && found.index < to; found = end.exec(text)) {
    const cut = Math.min(end.lastIndex, to)
    yield { from: start, to: cut }
    start = cut
  }
  if (start < to) yield { from: start, to }
}

/** Steps of a quarter of the limit, moved to a blank where there is one, never inside a character. */
function* words(text: string, { from, to }: Range, tokensMax: number): Generator<Range> {
  const step = Math.max(8, Math.floor(tokensMax / 4))
  for (let start = from; start < to; ) {
    const cut = start + step >= to ? to : blankBefore(text, start, start + step)
    yield { from: start, to: cut }
    start = cut
  }
}

function blankBefore(text: string, start: number, end: number): number {
  const blank = text.slice(start, end).search(/\s\S*$/)
  if (blank > 0) return start + blank + 1
  return /[\udc00-\udfff]/.test(text.charAt(end)) ? end + 1 : end
}
