import assert from 'node:assert/strict'
import { test } from 'vitest'
import { tenantId } from '../model/tenant-id.ts'
import { times } from '../testing/storage/given.ts'
import type { Chain } from './chain.ts'
import { type KnownChains, knownChains } from './known-chains.ts'
import { noSections, sectionsAfter } from './sections.ts'

const acme = tenantId('acme')
const of = (...correlations: string[]): ReadonlySet<string> => new Set(correlations)

/** A chain after one commit that took it from one number to another and left these tails. */
const chain = (from: number, sequence: number, tails: Record<string, string> = {}): Chain => ({
  sequence,
  hash: `h${sequence}`,
  latest: '',
  lagMs: 0,
  behind: false,
  sections: sectionsAfter(nothing),
  tails: new Map(Object.entries(tails)),
  from: { sequence: from, hash: `h${from}`, lagMs: 0 },
  remembered: false,
  seen: undefined,
})

const nothing = noSections()

/** What is recalled, but for the sections, which are asked one by one. */
const recalled = (known: KnownChains, ...correlations: string[]): Chain | undefined => {
  const found = known.recall(acme, of(...correlations))
  return found && { ...found, sections: sectionsAfter(nothing) }
}

const keepAll = (known: KnownChains, ...chains: readonly Chain[]): void => {
  for (const each of chains) known.keep(acme, each)
}

test('a chain is remembered once two commits in a row found what the first left [F-13]', () => {
  const known = knownChains()
  assert.equal(known.recall(acme, of()), undefined)
  keepAll(known, chain(7, 8))
  assert.equal(known.recall(acme, of()), undefined)
  keepAll(known, chain(8, 9))
  assert.deepEqual(recalled(known), { ...chain(9, 9), remembered: true })
})

test('a chain that others grow in between is read every time [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1), chain(2, 3), chain(4, 5))
  assert.equal(known.recall(acme, of()), undefined)
})

test('what is forgotten is read, and so is a tenant of which nothing is known [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1), chain(1, 2))
  assert.equal(known.recall(tenantId('other'), of()), undefined)
  known.forget(acme)
  assert.equal(known.recall(acme, of()), undefined)
})

test('a recalled chain has the tails that were asked for, and changing it changes nothing [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1, { a: '1' }), chain(1, 3, { a: '2', b: '3' }))
  const first = known.recall(acme, of('a', 'c'))
  assert.deepEqual([...(first?.tails ?? [])], [['a', '2']])
  first?.tails.set('a', 'x')
  if (first !== undefined) first.sequence = 99
  assert.deepEqual(recalled(known, 'a', 'b'), { ...chain(3, 3, { a: '2', b: '3' }), remembered: true })
})

test('tails from before others wrote are not believed [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1, { a: 'old' }), chain(5, 6, { b: '6' }), chain(6, 7))
  assert.deepEqual([...(known.recall(acme, of('a', 'b'))?.tails ?? [])], [['b', '6']])
})

test('only so many correlations and tenants are remembered, those used last [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1), chain(1, 2, { first: 'x' }))
  for (const index of times(2048, (index) => index))
    keepAll(known, chain(index + 2, index + 3, { [`c-${index}`]: 'x' }))
  assert.equal(known.recall(acme, of('first', 'c-0', 'c-1030', 'c-2047'))?.tails.size, 2)
  for (const index of times(512, (index) => index)) known.keep(tenantId(`t-${index}`), chain(0, 1))
  assert.equal(known.recall(acme, of()), undefined)
})
