import { queryTerms } from './section-rank.ts'
import type { ChosenPack, MissingFact, SelectionRequest } from './selection.ts'
import type { OpenedPack } from './tiers.ts'

/** Required facts, and the query itself, of which the chosen sections have less than half of the words. */
export function missingFacts(
  { query, required = [] }: SelectionRequest,
  packs: readonly OpenedPack[],
  chosen: readonly ChosenPack[],
): readonly MissingFact[] {
  const has = makeHas(packs, chosen)
  const isCovered = (fact: string, share: number): boolean => {
    const terms = queryTerms(fact)
    return terms.length > 0 && terms.filter(has).length >= terms.length * share
  }
  const open = [...(isCovered(query, queryShare) ? [] : [query]), ...required.filter((fact) => !isCovered(fact, 1))]
  return [...new Set(open)].map((fact) => ({ fact, recommendation: 'ask_user_or_mark_unknown' }))
}

/** A question has words that no answer repeats; a fact that is required is named by its own. */
const queryShare = 0.5

function makeHas(packs: readonly OpenedPack[], chosen: readonly ChosenPack[]): (term: string) => boolean {
  const places = packs.flatMap(({ facts }, at) =>
    (chosen[at]?.sections ?? []).flatMap(({ path, section }) => {
      const file = facts.files.get(path) ?? facts.records?.find((one) => one.path === path)
      return file === undefined ? [] : [{ postings: file.terms.postings, at: file.sections.indexOf(section) }]
    }),
  )
  return (term) =>
    places.some(({ postings, at }) => {
      const list = postings.get(term) ?? []
      for (let index = 0; index < list.length; index += 3) if (list[index] === at) return true
      return false
    })
}
