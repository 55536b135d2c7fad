import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { fill, type Offer, type PackOffers } from './fill.ts'

interface Named extends Offer {
  readonly id: string
}

/**
 * The rule again, slow and plain: at each step look at every offer anew and take the one that is next in line. The line:
 * openings of personas within a third, openings of others, more of personas within their third, more of others, and
 * what is left to personas.
 */
function reference(packs: readonly PackOffers<Named>[], budget: number): readonly string[] {
  const taken: Named[] = []
  const isOpen = (pack: string): boolean => taken.some((offer) => offer.pack === pack)
  const cost = (those: readonly PackOffers<Named>[]): number => {
    let sum = 0
    for (const pack of those) if (isOpen(pack.pack)) sum += pack.opening
    for (const offer of taken) if (those.some(({ pack }) => pack === offer.pack)) sum += offer.tokens
    return sum
  }
  const personas = packs.filter(({ persona }) => persona)
  const others = packs.filter(({ persona }) => !persona)
  const third = Math.floor(budget / 3)
  const withinThird = (more: number): boolean => cost(personas) + more <= third && cost(packs) + more <= budget
  const withinAll = (more: number): boolean => cost(packs) + more <= budget

  const open = (those: readonly PackOffers<Named>[], fits: (more: number) => boolean): void => {
    for (const { pack, opening, offers } of those) {
      if (isOpen(pack)) continue
      const first = offers.filter(({ tokens }) => fits(opening + tokens))[0]
      if (first !== undefined) taken.push(first)
    }
  }
  const more = (those: readonly PackOffers<Named>[], fits: (more: number) => boolean): void => {
    for (;;) {
      const left = those.filter(({ pack }) => isOpen(pack)).flatMap(({ offers }) => offers)
      const free = left.filter((offer) => !taken.includes(offer) && fits(offer.tokens))
      const best = Math.max(...free.map(({ score }) => score))
      const next = free.find(({ score }) => score === best)
      if (next === undefined) return
      taken.push(next)
    }
  }
  open(personas, withinThird)
  open(others, withinAll)
  more(personas, withinThird)
  more(others, withinAll)
  open(personas, withinAll)
  more(personas, withinAll)
  return taken.map(({ id }) => id)
}

const offer = fc.record({ score: fc.integer({ min: 1, max: 20 }), tokens: fc.integer({ min: 1, max: 60 }) })
const pack = fc.record({
  persona: fc.boolean(),
  opening: fc.integer({ min: 0, max: 40 }),
  offers: fc.array(offer, { maxLength: 6 }),
})
const worlds = fc.array(pack, { maxLength: 4 }).map((packs) =>
  packs.map(({ persona, opening, offers }, at): PackOffers<Named> => {
    const name = `p${at}`
    const sorted = [...offers].sort((a, b) => b.score - a.score)
    const named = sorted.map((one, index) => ({ ...one, pack: name, id: `${name}.${index}` }))
    return { pack: name, persona, opening, offers: named }
  }),
)
const budgets = fc.integer({ min: 0, max: 300 })

test('filling agrees with the reference on every small world [K-56 K-64 K-76]', () => {
  fc.assert(
    fc.property(worlds, budgets, (packs, budget) => {
      assert.deepEqual(
        fill(packs, budget).taken.map(({ id }) => id),
        reference(packs, budget),
      )
    }),
    { numRuns: 2_000 },
  )
})

const costOf = (packs: readonly PackOffers<Named>[], taken: readonly Named[]): number =>
  packs.filter((one) => taken.some((offer) => offer.pack === one.pack)).reduce((sum, { opening }) => sum + opening, 0) +
  taken.filter((offer) => packs.some((one) => one.pack === offer.pack)).reduce((sum, { tokens }) => sum + tokens, 0)

test('the budget is never exceeded, and what was used is said [K-64 K-76]', () => {
  fc.assert(
    fc.property(worlds, budgets, (packs, budget) => {
      const { taken, tokens } = fill(packs, budget)
      assert.equal(tokens, costOf(packs, taken))
      assert(tokens <= budget)
      assert.equal(new Set(taken).size, taken.length)
    }),
  )
})

test('personas have more than a third only when nothing else fits any more [K-56 K-76]', () => {
  fc.assert(
    fc.property(worlds, budgets, (packs, budget) => {
      const { taken, tokens } = fill(packs, budget)
      const personas = packs.filter(({ persona }) => persona)
      if (costOf(personas, taken) <= Math.floor(budget / 3)) return
      const open = packs.filter((one) => !one.persona && taken.some((offer) => offer.pack === one.pack))
      const without = tokens - costOf(personas, taken)
      for (const { offers } of open)
        for (const left of offers.filter((one) => !taken.includes(one)))
          assert(without + Math.floor(budget / 3) + left.tokens > budget || tokens + left.tokens > budget)
    }),
  )
})

test('the best section of each pack is there when all of them fit together [K-56]', () => {
  fc.assert(
    fc.property(worlds, (packs) => {
      const others = packs.filter(({ persona, offers }) => !persona && offers.length > 0)
      const needed = others.reduce((sum, { opening, offers }) => sum + opening + (offers[0]?.tokens ?? 0), 0)
      const { taken } = fill(others, needed)
      for (const { offers } of others) assert(taken.includes(offers[0] as Named))
    }),
  )
})
