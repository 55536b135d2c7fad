import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { type FieldTerms, type IndexOptions, makeIndex } from './bm25.ts'

const options: IndexOptions = {
  fields: [
    { weight: 4, b: 0.5 },
    { weight: 1, b: 0.5 },
  ],
  k1: 2,
}
const term = fc.constantFrom('pump', 'valve', 'motor', 'seal', 'pressure')
const terms = fc.array(term, { maxLength: 6 })
const documents = fc.array(fc.tuple(terms, terms), { minLength: 1, maxLength: 6 })

/** The formula as it is written in books, one document and one term at a time. */
function reference(all: readonly FieldTerms[], query: readonly string[]): number[] {
  const mean = (field: number) => all.reduce((sum, one) => sum + (one[field]?.length ?? 0), 0) / all.length || 1
  return all.map((document) => {
    let score = 0
    for (const wanted of new Set(query)) {
      const found = all.filter((one) => one.flat().includes(wanted)).length
      let count = 0
      for (const [at, { weight, b }] of options.fields.entries()) {
        const field = document[at] ?? []
        const times = field.filter((one) => one === wanted).length
        count += (weight * times) / (1 - b + (b * field.length) / mean(at))
      }
      score += (Math.log(1 + (all.length - found + 0.5) / (found + 0.5)) * count) / (options.k1 + count)
    }
    return score
  })
}

test('the index scores as the formula does [K-44]', () => {
  fc.assert(
    fc.property(documents, terms, (all, query) => {
      const scores = [...makeIndex(all, options).score(query)]
      for (const [at, expected] of reference(all, query).entries()) {
        assert.ok(Math.abs((scores[at] ?? Number.NaN) - expected) < 1e-9)
      }
    }),
  )
})

test('the order of documents changes no score by a single bit [K-44]', () => {
  fc.assert(
    fc.property(documents, terms, (all, query) => {
      const turned = makeIndex(all.toReversed(), options).score(query)
      assert.deepEqual([...turned].reverse(), [...makeIndex(all, options).score(query)])
    }),
  )
})

test('a term counts for more in a weightier field, in a shorter one, and when fewer documents have it [K-44]', () => {
  const index = makeIndex(
    [
      [['pump'], ['seal', 'motor']],
      [['motor'], ['pump']],
      [['valve'], ['pump', 'motor', 'motor', 'motor']],
    ],
    options,
  )
  const [first = 0, second = 0, third = 0] = index.score(['pump'])
  assert.ok(first > second && second > third && third > 0)
  assert.ok(index.weight('valve') > index.weight('pump'))
  assert.ok(index.weight('unknown') > index.weight('valve'))
})

test('a term worth nothing elsewhere is worth nothing here [K-44]', () => {
  const index = makeIndex([[['pump'], ['guide']]], { ...options, keep: (term) => (term === 'guide' ? 0 : 1) })
  assert.equal(index.score(['guide'])[0], 0)
  assert.ok((index.score(['pump'])[0] ?? 0) > 0)
  assert.equal(index.share('guide', 0) > 0, true)
})

test('an index of nothing answers with nothing [K-44]', () => {
  assert.deepEqual([...makeIndex([], options).score(['pump'])], [])
})
