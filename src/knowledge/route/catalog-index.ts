import { type Index, makeIndex } from './bm25.ts'
import { calibration } from './calibration.ts'
import { keepOf } from './common-words.ts'
import { descriptionOf, nameTerms, promptTerms, type Routable } from './routable.ts'
import { termsOf } from './words.ts'

/** What can be found of each pack: name, description, initials and prompts that select it. */
export function makeCatalogIndex(packs: readonly Routable[]): Index {
  const { weights } = calibration
  const descriptions = ownDescriptions(packs)
  const documents = packs.map((pack, at) => [
    nameField(pack),
    descriptions[at] ?? [],
    initialsOf(`${pack.name.replaceAll('-', ' ')}; ${descriptionOf(pack)}`),
    promptTerms(pack, pack.select).flat(),
  ])
  return makeIndex(documents, {
    fields: [
      { weight: weights.name, b: 0.5 },
      { weight: 1, b: 0.9 },
      { weight: weights.initials, b: 0.5 },
      { weight: weights.prompts, b: 1 },
    ],
    k1: weights.k1,
    keep: keepOf,
    documentsMin: weights.catalogMin,
  })
}

/** The words of the name, and all of them as one: who asks may write `nodejs` for `node-js`. */
const nameField = (pack: Routable): readonly string[] =>
  pack.name.includes('-')
    ? [...nameTerms(pack), ...termsOf(pack.name.replaceAll('-', ''), pack.language)]
    : nameTerms(pack)

/**
 * The terms of each description, once each: saying a word often is no reason to be asked.
 * A description that several packs share belongs to those whose name it speaks of most; the others are found by name
 * alone. Otherwise a copy would draw the questions of the pack it was copied from.
 */
function ownDescriptions(packs: readonly Routable[]): readonly (readonly string[])[] {
  const terms = packs.map((pack) => termsOf(descriptionOf(pack), pack.language))
  const keys = terms.map((list) => list.join(' '))
  const told = packs.map((pack, at) => shareIn(nameTerms(pack), new Set(terms[at])))
  const most = new Map<string, number>()
  for (const [at, key] of keys.entries()) most.set(key, Math.max(most.get(key) ?? 0, told[at] ?? 0))
  return terms.map((list, at) => (told[at] === most.get(keys[at] ?? '') ? [...new Set(list)] : []))
}

const shareIn = (terms: readonly string[], all: ReadonlySet<string>): number =>
  terms.filter((term) => all.has(term)).length / Math.max(1, terms.length)

/** The initials of two to four words that stand together, in capitals, as no other term is. */
function initialsOf(text: string): readonly string[] {
  const words = text.match(/\p{L}+|[^\p{L}\s&]/gu) ?? []
  const out = new Set<string>()
  for (const at of words.keys()) {
    let initials = ''
    for (const word of words.slice(at, at + 4)) {
      if (!/^\p{L}{2}/u.test(word)) break
      initials += word.charAt(0).toUpperCase()
      if (initials.length > 1) out.add(initials)
    }
  }
  return [...out]
}
