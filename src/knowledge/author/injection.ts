import { distinct, type Found, folded, searchIn } from './found.ts'
import { injectionPhrases } from './injection-phrases.ts'
import { makeFinder } from './phrases.ts'

/** Lines with instructions to the reader, of the kind attacks use. A sentence may run over several lines. */
export function findInjections(text: string): readonly Found[] {
  const searched = folded(text)
  const { lineOf, all } = searchIn(searched)
  const { words, places } = wordsOf(searched)
  return distinct([
    ...findPhrases(words).map(({ at, kind }) => ({ line: lineOf(places[at] ?? 0), kind })),
    ...all(unspaced),
    // All tag characters begin with this unit, and hardly any text has it.
    ...(text.includes('\udb40') ? searchIn(text).all([hidden]) : []),
  ])
}

const findPhrases = makeFinder(injectionPhrases)

/** All words with their places; the end of a sentence, a blank line and the start of a list are the word `.`. */
function wordsOf(text: string): { readonly words: readonly string[]; readonly places: readonly number[] } {
  const words: string[] = []
  const places: number[] = []
  for (const { 0: word, index } of text.matchAll(wordOrStop)) {
    const isStop = stop.test(word)
    // One stop after another says nothing more.
    if (isStop && words.at(-1) === '.') continue
    words.push(isStop ? '.' : word)
    places.push(index)
  }
  return { words, places }
}

const wordOrStop = /[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}]+)?|[.!?;:।؟](?=[\s"'”)]|$)|\n(?=[ \t]{0,32}(?:[\n*+>|#-]|$))/gu
const stop = /^[^\p{L}\p{M}\p{N}]/u

/** Tag characters spell ASCII that nobody sees; after a black flag they name a region, with six at most before the end. */
const hidden = {
  kind: 'hides text in invisible characters',
  form: /(?<!\u{1f3f4}[\u{e0020}-\u{e007e}]{0,6})[\u{e0020}-\u{e007e}]{3}/gu,
}

// Languages written without blanks, or that join words: looked for as they stand.
const unspaced = [
  /(?:忽略|无视|忘记|忘掉|不要理会|忽視|無視|忘記).{0,12}(?:指令|指示|说明|說明|提示|规则|規則|内容|一切)/gu,
  /(?:之前|以前|先前|上述|以上|前面).{0,8}(?:指令|指示|说明|提示).{0,6}(?:忽略|无视|忘)/gu,
  /(?:指示|命令|指令|説明|内容|こと).{0,8}(?:無視|忘れ)/gu,
  /(?:지시|명령|지침|내용).{0,12}(?:무시|잊)/gu,
  /(?:เพิกเฉย|ละเว้น|ลืม|ไม่สนใจ).{0,20}(?:คำสั่ง|คำแนะนำ|ก่อนหน้า)/gu,
].map((form) => ({ kind: 'sets earlier instructions aside', form }))
