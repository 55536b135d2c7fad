import { limits } from '../../base/limits.ts'
import { stemEnglish, stopWords } from './english.ts'

/**
 * The terms of a text, in order, repeated as often as they stand there: compatibility form, no case. An identifier gives
 * itself and its parts, `onClick` gives `onclick`, `on` and `click`; scripts without blanks give pairs of characters.
 * English words lose their endings, and those that say nothing are left out. A text without a language is taken for
 * English; of other languages nothing is taken off or left out. Takes time in proportion to the text.
 */
export function termsOf(text: string, language?: string): readonly string[] {
  const english = isEnglish(language)
  const out: string[] = []
  for (const word of wordsOf(text)) addWord(word, english, out)
  return out
}

export const isEnglish = (language?: string): boolean => language === undefined || /^en\b/i.test(language)

const wordsOf = (text: string): readonly string[] =>
  (ascii.test(text) ? text : text.normalize('NFKC')).match(words) ?? []

function addWord(word: string, english: boolean, out: string[]): void {
  if (unspaced.test(word)) addPairs(word, out)
  else if (named.test(word)) addIdentifier(word, english, out)
}

function addIdentifier(word: string, english: boolean, out: string[]): void {
  const parts = partsOf(word)
  if (parts.length !== 1 && word.length <= limits.knowledgeTermCharsMax) addTerm(word, english, out)
  for (const part of parts) addTerm(part, english, out)
  if (signed.test(word)) addTerm(spelled(word), english, out)
}

/** A name with signs as it is written where there can be none: `dotnet`, `csharp`, `cpp`. */
const spelled = (word: string): string => word.replace(/^\./, 'dot').replace(/#$/, 'sharp').replace(/\+\+$/, 'pp')

function addTerm(word: string, english: boolean, out: string[]): void {
  const term = word.toLowerCase().slice(0, limits.knowledgeTermCharsMax)
  if (!english) out.push(term)
  else if (!stopWords.has(term)) out.push(stemEnglish(term))
}

/** `HTTP2Server` has HTTP, 2 and Server. A letter says nothing on its own, and neither does a part of a number. */
function partsOf(word: string): readonly string[] {
  if (simple.test(word)) return [word]
  return (word.match(part) ?? []).filter((found) => found.length > 1 || digit.test(found))
}

function addPairs(run: string, out: string[]): void {
  const chars = [...run]
  if (chars.length === 1) out.push(run)
  for (let at = 1; at < chars.length; at++) out.push(`${chars[at - 1]}${chars[at]}`)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what needs no normalisation
const ascii = /^[\x00-\x7f]*$/
const digit = /\p{N}/u
const signed = /^\.|(?:#|\+\+)$/
const named = /[\p{L}\p{N}]/u

// Scripts that are written without blanks, the mark that lengthens a kana among them.
const noBlanks = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{sc=${script}}`)
  .join('')
  .concat('\u30fc')
const letter = `[[\\p{L}\\p{M}\\p{N}_]--[${noBlanks}]]`
const unspaced = new RegExp(`^[${noBlanks}]`, 'v')

// A run of such a script; or letters and digits held together by single signs, with the signs that belong to names:
// `c++`, `c#`, `.net`.
const words = new RegExp(
  `[${noBlanks}]+|(?:(?<![\\p{L}\\p{N}_.])\\.)?${letter}+(?:[.\\-]${letter}+)*(?:\\+\\+|#)?`,
  'gv',
)
const simple = /^(?:[a-z]+|[A-Z]+|\.[a-zA-Z]+|[0-9.]+)$/
const part = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}|\p{N}+|[\p{Lt}\p{Lm}]+/gu
