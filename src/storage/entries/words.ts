/** The words of a text, each once, as every database indexes them: so they all find the same. */
export function wordsOf(text: string): string[] {
  const found = text.normalize('NFKC').toLowerCase().match(words) ?? []
  return [...new Set(found.map(cut))]
}

// Chinese, Japanese and Korean put no space between words: there each character is one.
const alone = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]`
const words = new RegExp(String.raw`${alone}|[[\p{L}\p{N}]--${alone}][[\p{L}\p{N}\p{M}]--${alone}]*`, 'gv')

const charsMax = 64

const cut = (word: string): string => (word.length <= charsMax ? word : [...word].slice(0, charsMax).join(''))
