import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { entryName } from '../discover/header.ts'

/** A description chooses the pack: it must say what is in it and when to use it, and claim no more. */
export function checkDescription(header: PackHeader): readonly Diagnostic[] {
  const { description } = header
  const weak = weakness(header)
  const greed = greedOf(description)
  return [
    ...(weak === undefined ? [] : [diagnostic('description-weak', entryName, weak)]),
    ...(greed === undefined ? [] : [diagnostic('description-greedy', entryName, greed)]),
  ]
}

function weakness({ name, description, language = 'en' }: PackHeader): string | undefined {
  const words = wordsOf(description)
  const own = words.filter((word) => !generic.has(word) && !name.split('-').includes(word))
  const long = isDense(description) ? description.length >= denseCharsMin : own.length >= wordsMin
  if (!long) return 'says too little to choose the pack by: name what it holds and the questions it answers'
  if (/^en\b/i.test(language) && !isDense(description) && !saysWhen.test(description))
    return 'does not say when to use the pack: add a sentence such as “Use it for …”'
  return undefined
}

const wordsMin = 5
const denseCharsMin = 12

/** Written without blanks, so that words cannot be counted. */
const isDense = (text: string): boolean => /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Thai}]{4}/u.test(text)

const saysWhen =
  /\b(?:when|whenever|for|if|use|used|using|answers?|questions?|consult|helps?|covers?|covering|before|about|who|where)\b/i

const generic = new Set(
  'a an the of and or to in on for with it is are this that pack knowledge information info data facts docs documentation document documents reference guide things stuff useful helpful general various misc about my our your all some use'.split(
    ' ',
  ),
)

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []

function greedOf(description: string): string | undefined {
  if (claimsAll.test(description))
    return 'claims to be for everything: name what the pack is for, and what it is not for'
  const words = wordsOf(description).filter((word) => !generic.has(word))
  const repeated = words.find((word) => words.filter((other) => other === word).length > repeatsMax(words.length))
  if (repeated !== undefined || longestList(description) > listMax)
    return 'is a heap of keywords: write sentences that say what the pack holds'
  return undefined
}

const claimsAll =
  /\b(?:always (?:use|choose|select|activate|prefer|load)|(?:use|choose|select|activate) (?:this|it)[\w ,]{0,24} (?:always|first|instead of)|(?:any|every|all) (?:kinds? of |sorts? of |possible |user )?(?:questions?|topics?|tasks?|requests?|quer(?:y|ies)|purposes?|subjects?|prompts?)|(?:everything|anything) (?:else|you|there|about everything|and)|for everything|for anything)\b/i

const repeatsMax = (words: number): number => Math.max(4, Math.floor(words / 8))
const listMax = 20

/** The most parts between commas, semicolons or bars that have no more than three words each. */
const longestList = (text: string): number =>
  Math.max(
    0,
    ...text
      .split(/[.!?。](?=\s|$)/)
      .map((sentence) => sentence.split(/[,;|、，]/).filter((part) => wordsOf(part).length <= 3).length),
  )
