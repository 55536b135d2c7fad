import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { makeIndex } from '../route/bm25.ts'
import { termsOf } from '../route/words.ts'
import { indexFile } from './file-index.ts'
import { joinFiles } from './joined-files.ts'
import { queryTerms, rankSections, uncovered } from './section-rank.ts'

const word = fc.constantFrom('pump', 'valve', 'heat', 'water', 'useEffect', '漢字', 'node.js', 'blue', 'bar')
const words = fc.array(word, { minLength: 1, maxLength: 12 }).map((list) => list.join(' '))
const section = fc.record({ title: words, body: words })
const files = fc.array(fc.array(section, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 })

test('files indexed one by one rank as one index over all their sections does [K-56 K-64]', () => {
  fc.assert(
    fc.property(files, words, (all, query) => {
      const indexes = all.map((sections, at) =>
        indexFile(`x/f${at}.md`, sections.map(({ title, body }) => `# ${title}\n\n${body}\n`).join('\n')),
      )
      const grouped = [joinFiles(indexes.slice(0, 2)), joinFiles(indexes.slice(2))]
      const documents = all.flatMap((sections, at) =>
        sections.map(({ title, body }) => [termsOf(`f${at} ${title}`), termsOf(body)]),
      )
      const fields = [
        { weight: 2, b: 0.5 },
        { weight: 1, b: 0.75 },
      ]
      const expected = [...makeIndex(documents, { fields, k1: 1.2 }).score(queryTerms(query))]
      const scores = new Map(
        rankSections(grouped, queryTerms(query))
          .flat()
          .map(({ file, at, score }) => [`${file.path} ${at}`, score]),
      )
      const found = all.flatMap((sections, at) => sections.map((_, one) => scores.get(`x/f${at}.md ${one}`) ?? 0))
      for (const [at, score] of expected.entries()) assert(Math.abs(score - (found[at] ?? 0)) < 1e-9)
    }),
  )
})

test('a ranked section names the terms of the query that it has [K-68]', () => {
  const file = indexFile('a.md', '# Heat\n\nPumps get hot.\n\n# Water\n\nWet.\n')
  const ranked = rankSections([joinFiles([file])], queryTerms('heat of pumps and water')).flat()
  assert.deepEqual(
    ranked.map(({ at, matched }) => [at, matched]),
    [
      [0, ['heat', 'pump']],
      [1, ['water']],
    ],
  )
  assert.deepEqual(uncovered([joinFiles([file])], queryTerms('heat of tulips')), ['tulip'])
})

test('of thousands of matching sections only the best are ranked, of equal ones the first [K-64]', () => {
  const text = Array.from(
    { length: 3_000 },
    (_, n) => `# S${n}\n\n${n === 2_999 ? 'pump pump valve' : 'pump water'}\n`,
  ).join('\n')
  const ranked = rankSections([joinFiles([indexFile('a.md', text)])], ['pump']).flat()
  assert.equal(ranked.length, 512)
  assert.deepEqual([ranked[0]?.at, ranked.at(-1)?.at], [0, 2_999])
})
