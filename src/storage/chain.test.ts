import assert from 'node:assert/strict'
import { test } from 'vitest'
import { tenantId } from '../model/identity/tenant-id.ts'
import { times } from '../testing/storage/given.ts'
import { type Chain, knownChains } from './chain.ts'
import { noSections } from './tables/sections.ts'

const acme = tenantId('acme')

/** A chain after one commit that took it from one number to another and left these tails. */
const chain = (from: number, sequence: number, tails: Record<string, string> = {}): Chain => ({
  sequence,
  hash: `h${sequence}`,
  latest: '',
  lagMs: 0,
  behind: false,
  sections: nothing,
  tails: new Map(Object.entries(tails)),
  from: { sequence: from, hash: `h${from}`, lagMs: 0 },
  remembered: false,
  seen: undefined,
})

const nothing = noSections()

const keepAll = (known: ReturnType<typeof knownChains>, ...chains: readonly Chain[]): void => {
  for (const each of chains) known.keep(acme, each)
}

test('a chain is remembered once two commits in a row found what the first left [F-13]', () => {
  const known = knownChains()
  assert.equal(known.recall(acme), undefined)
  keepAll(known, chain(7, 8))
  assert.equal(known.recall(acme), undefined)
  keepAll(known, chain(8, 9, { a: '9' }))
  assert.deepEqual(known.recall(acme), { ...chain(9, 9, { a: '9' }), remembered: true })
})

test('a chain that others grow in between is read every time [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1), chain(2, 3), chain(4, 5))
  assert.equal(known.recall(acme), undefined)
})

test('what is forgotten is read, and so is a tenant of which nothing is known [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1), chain(1, 2))
  assert.equal(known.recall(tenantId('other')), undefined)
  known.forget(acme)
  assert.equal(known.recall(acme), undefined)
})

test('a batch begins where the one before it ended, with nothing of it left to store [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1), chain(1, 2))
  const first = known.recall(acme)
  assert(first !== undefined)
  first.sequence = 3
  first.hash = 'h3'
  first.behind = true
  first.sections.rows.push(['outcome', 'success', 0])
  known.keep(acme, first)
  const second = known.recall(acme)
  assert.deepEqual(second?.from, { sequence: 3, hash: 'h3', lagMs: 0 })
  assert.deepEqual([second?.behind, second?.sections.rows], [false, []])
})

test('tails from before others wrote are not believed [F-13]', () => {
  const known = knownChains()
  keepAll(known, chain(0, 1, { a: 'old' }), chain(5, 6, { b: '6' }), chain(6, 7, { c: '7' }))
  assert.deepEqual([...(known.recall(acme)?.tails ?? [])], [['c', '7']])
})

test('only so many correlations and tenants are remembered [F-13]', () => {
  const known = knownChains()
  const many = Object.fromEntries(times(2049, (index) => [`c-${index}`, 'x']))
  keepAll(known, chain(0, 1), chain(1, 2, many))
  assert.equal(known.recall(acme)?.tails.size, 0)
  for (const index of times(512, (index) => index)) known.keep(tenantId(`t-${index}`), chain(0, 1))
  assert.equal(known.recall(acme), undefined)
})
