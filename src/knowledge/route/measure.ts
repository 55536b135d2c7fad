import { limits } from '../../base/limits.ts'
import { sumOf } from './bm25.ts'
import { calibration } from './calibration.ts'
import { makeCatalogIndex } from './catalog-index.ts'
import { isEveryday } from './common-words.ts'
import { makeNeighbours, type Nearness } from './neighbours.ts'
import { type Question, readQuestion } from './question.ts'
import { nameTerms, type Routable } from './routable.ts'
import { isEnglish } from './words.ts'

/** What speaks for a pack, without regard to the others. */
export interface Measured {
  readonly id: string
  readonly score: number
  /** The part of the score that does not come from the nearest prompt. */
  readonly byWords: number
  readonly matched: readonly string[]
  /** Something other than everyday words speaks for it: a term of its own, or a prompt that is nearly the question. */
  readonly distinct: boolean
  /** Share of the weight of the question that the pack matches. */
  readonly share: number
  /** The question names the pack: it has at least half of the weight of its name. */
  readonly named: boolean
  /** The words of its name that the question has. */
  readonly namedBy: readonly string[]
  /** Share of the pack among the nearest prompts, as far as its own is near at all. */
  readonly agreement: number
}

const { weights } = calibration

/** Measures all packs against a question; those that nothing speaks for are left out. */
export function makeMeasure(packs: readonly Routable[]): (query: string) => readonly Measured[] {
  const index = makeCatalogIndex(packs)
  const neighbours = makeNeighbours(packs)
  const names = packs.map(nameTerms)
  const languages = [...new Set(packs.map((pack) => isEnglish(pack.language)))]

  const measureAll = (question: Question): readonly Measured[] => {
    const scores = index.score(question.terms, question.stress)
    const near = neighbours(question)
    const worth = (terms: readonly string[]) => sumOf(terms, (term) => index.weight(term) * question.stress(term))
    const whole = worth(question.terms) || 1
    return packs.map((pack, at) => {
      const matched = question.terms.filter((term) => index.share(term, at) > 0)
      const name = readName(names[at] ?? [], question, index.weight)
      const prompts = near[at] ?? { select: 0, reject: 0, agreement: 0 }
      const byWords = (scores[at] ?? 0) + weights.together * name.together
      const score = byWords + votesOf(pack, prompts)
      return {
        id: pack.id,
        score: score * (1 - Math.max(0, prompts.reject - prompts.select)),
        byWords,
        matched,
        distinct: prompts.select >= 0.8 || matched.some((term) => !isEveryday(term)),
        share: worth(matched) / whole,
        named: name.share >= 0.5,
        namedBy: name.asked,
        agreement: prompts.agreement,
      }
    })
  }

  return (query) => {
    const answers = new Map(languages.map((english) => [english, measureAll(ask(query, english, index.has))]))
    return packs
      .flatMap((pack, at) => answers.get(isEnglish(pack.language))?.[at] ?? [])
      .filter(({ score }) => score > 0)
  }
}

/** A question reads as the packs it is held against were read. Words of capitals that no pack has may be initials. */
function ask(query: string, english: boolean, has: (term: string) => boolean): Question {
  const question = readQuestion(query, { language: english ? 'en' : 'und', stress: weights.stress })
  const initials = question.capitals.filter((word) => !has(word.toLowerCase()) && has(word))
  return { ...question, terms: [...question.terms, ...initials] }
}

/** The more prompts a pack has, the more the nearest is worth: of few, it is near by chance. */
function votesOf(pack: Routable, near: Nearness): number {
  const prompts = Math.min(pack.select.length, limits.knowledgePromptsPerPackMax)
  return weights.neighbours * (prompts / (prompts + weights.neighboursHalf)) * near.select
}

function readName(name: readonly string[], question: Question, weight: (term: string) => number) {
  const asked = name.filter((term) => question.terms.includes(term))
  const pairs = name.slice(1).map((term, at) => [name[at] ?? '', term] as const)
  const together = pairs.filter((pair) => question.sequence.includes(` ${pair.join(' ')} `))
  return {
    asked,
    share: sumOf(asked, weight) / (sumOf(name, weight) || 1),
    together: together.reduce((sum, pair) => sum + Math.min(2, sumOf(pair, weight)), 0),
  }
}
