import { estimateTokens } from './estimate.ts'
import { linesOf } from './headings.ts'

/** A part of a text, from `from` up to `to`. */
export interface Range {
  readonly from: number
  readonly to: number
}

/**
 * The text in pieces of about `tokensMax` at most: cut between paragraphs, in a paragraph that is too long between lines
 * and sentences, in a sentence that is too long between words. The pieces together are the text.
 */
export function divide(text: string, tokensMax: number): readonly Range[] {
  return gather(text, paragraphs(text), tokensMax, (range) =>
    gather(text, sentences(text, range), tokensMax, (sentence) =>
      gather(text, words(text, sentence, tokensMax), tokensMax, (word) => [word]),
    ),
  )
}

/** Neighbours joined as long as they stay within the limit; one that exceeds it alone is divided further. */
function gather(
  text: string,
  ranges: Iterable<Range>,
  tokensMax: number,
  further: (range: Range) => readonly Range[],
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
    if (tokens <= tokensMax) open = { ...range, tokens }
    else out.push(...further(range))
  }
  if (open !== undefined) out.push({ from: open.from, to: open.to })
  return out
}

/** Each with the blank lines behind it. A code fence may hold blank lines: it is cut there only when it is too long. */
export function* paragraphs(text: string): Generator<Range> {
  let from = 0
  let blank = false
  for (const line of linesOf(text)) {
    const empty = line.text.trim() === ''
    if (blank && !empty) {
      yield { from, to: line.from }
      from = line.from
    }
    blank = empty
  }
  if (from < text.length) yield { from, to: text.length }
}

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
