import { canonical, type Json } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { answerEntries } from './answers.ts'
import { estimateTokens } from './estimate.ts'
import { ontologyEntries } from './ontology.ts'
import type { RecordEntry } from './record-items.ts'
import type { CountTokens, FileIndex, Section } from './section.ts'
import { makeSectionTerms } from './section-terms.ts'

/**
 * Ontology and answers of a pack as short sections, one for each entry, so that only what matches a question is sent.
 * `files` are the parsed `records` of `candidatesOf`. Actions, logs and monitoring are not among the kinds that are read.
 */
export function indexRecords(
  files: ReadonlyMap<string, Json>,
  count: CountTokens = estimateTokens,
): readonly FileIndex[] {
  const byPath = Map.groupBy([...ontologyEntries(files), ...answerEntries(files)], ({ item }) => item.path)
  return [...byPath]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, entries]) => indexEntries(path, files.get(path) ?? null, entries, count))
}

function indexEntries(path: string, value: Json, entries: readonly RecordEntry[], count: CountTokens): FileIndex {
  const { terms, add } = makeSectionTerms()
  const taken = new Map<string, number>()
  const sections = entries.map(({ item, title, lines, findings, unanchored, marks }): Section => {
    const text = lines.join('\n')
    add(title, text)
    const number = (taken.get(item.id) ?? 0) + 1
    taken.set(item.id, number)
    const id = number === 1 ? item.id : `${item.id}.${number}`
    const digest = sha256(text.replace(/\s+/g, ' '))
    const own = { tokens: count(text), digest, marks, text, findings, unanchored }
    return { id, slug: item.id, headings: [title], ...nowhere, ...own }
  })
  return { path, digest: sha256(canonical(value)), sections, terms, places: { lines: 0, headings: new Set() } }
}

/** What is put together from entries is no range of a file. */
const nowhere = { from: 0, to: 0, firstLine: 1, lastLine: 1 }
