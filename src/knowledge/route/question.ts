import { termsOf } from './words.ts'

/** A question as the ranking reads it. */
export interface Question {
  readonly terms: readonly string[]
  /** How much the question stresses a term: names and code count for more than plain words. */
  readonly stress: (term: string) => number
  /** The first term of each word, in order, between blanks: to look for words that stand together. */
  readonly sequence: string
  /** Words of capitals alone, as `EF`: they may be the initials of something. */
  readonly capitals: readonly string[]
}

export function readQuestion(
  text: string,
  options: { readonly language?: string | undefined; readonly stress: number },
): Question {
  const stressed = new Map<string, number>()
  const sequence: string[] = []
  const capitals = new Set<string>()
  for (const { word, name } of stressedWords(text)) {
    const terms = termsOf(word, options.language)
    const stress = name ? options.stress : 1
    for (const term of terms) stressed.set(term, Math.max(stress, stressed.get(term) ?? 0))
    sequence.push(...terms.slice(0, 1))
    if (/^[A-Z]{2,5}$/.test(word)) capitals.add(word)
  }
  return {
    terms: [...stressed.keys()],
    stress: (term) => stressed.get(term) ?? 1,
    sequence: ` ${sequence.join(' ')} `,
    capitals: [...capitals],
  }
}

/** The words of a text without the signs around them, and whether each is written as a name or as code. */
function* stressedWords(text: string): Generator<{ readonly word: string; readonly name: boolean }> {
  let first = true
  for (const [raw] of text.matchAll(/\S+/g)) {
    const word = raw.replace(/^[("'`[]{0,4}/, '').replace(/[)"'`,.?!:;\]]{1,4}$/, '')
    yield { word, name: code.test(raw) || (!first && /^\p{Lu}/u.test(word)) || /\p{Lu}.*\p{Lu}/u.test(word) }
    first = /[.?!:]$/.test(raw)
  }
}

const code = /[`_@\p{N}]|::|\(\)|\p{Ll}\p{Lu}|\p{L}\.\p{L}/u
