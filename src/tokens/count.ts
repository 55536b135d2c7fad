import { countTokens as countPlain } from 'gpt-tokenizer/encoding/o200k_base'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'

/** A counter that keeps the counts of the `entriesMax` texts used last, by their hash. */
export function makeTokenCounter(options: {
  readonly entriesMax: number
  readonly countText?: (text: string) => number
}) {
  const { entriesMax, countText = countTokens } = options
  const kept = new Map<string, number>()
  return {
    count(text: string): number {
      const key = sha256(text)
      const tokens = kept.get(key) ?? countText(text)
      kept.delete(key)
      kept.set(key, tokens)
      if (kept.size > entriesMax) for (const oldest of kept.keys().take(1)) kept.delete(oldest)
      return tokens
    },
  }
}

/**
 * Exact tokens of the text in `o200k_base`; control tokens such as `<|endoftext|>` count as the text they are. Every
 * piece is counted on its own: the tokenizer takes quadratic time on an unbroken run.
 */
export const countTokens = (text: string): number =>
  pieces(text).reduce((sum, piece) => sum + countPlain(piece, plainText), 0)

const plainText = { disallowedSpecial: new Set<string>() }

// What the tokenizer never divides before it looks for tokens: letters, blanks, signs, and the line ends after signs.
const runs = /[\p{L}\p{M}]+|[\r\n/]+|\s+|[^\s\p{L}\p{N}]+/gu

/** The text cut inside runs that are too long, and nowhere else; never inside a character. */
function pieces(text: string): readonly string[] {
  const out: string[] = []
  let done = 0
  for (const { 0: run, index } of text.matchAll(runs)) {
    for (const cut of cuts(run)) {
      out.push(text.slice(done, index + cut))
      done = index + cut
    }
  }
  return [...out, text.slice(done)]
}

function cuts(run: string): readonly number[] {
  const max = limits.tokenRunCharsMax
  const out: number[] = []
  for (let at = max; at < run.length; at += max) {
    if (/[\udc00-\udfff]/.test(run.charAt(at))) at--
    out.push(at)
  }
  return out
}
