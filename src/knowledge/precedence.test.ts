import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { codesOf, packOf } from '../../test/support/knowledge.ts'
import { packStatus, packTrust, rootScope } from '../model/knowledge/knowledge.ts'
import { trustRank } from './pack.ts'
import { winners } from './precedence.ts'

const winnerOf = (...args: Parameters<typeof winners>) => {
  const [winner] = winners(...args)
  return { id: winner?.pack.id, codes: codesOf(winner?.warnings ?? []) }
}

test('of equal names the workspace wins, then the user, the organisation, what is built in; every loser is named [K-14 K-46]', () => {
  const packs = rootScope.options.map((scope) => packOf({ in: scope }))
  assert.deepEqual(winnerOf(packs.toReversed(), 'named'), {
    id: 'workspace:pumps',
    codes: ['collision', 'collision', 'collision'],
  })
})

test('in one scope the order of roots decides, then the path [K-46]', () => {
  const [first, second] = [packOf({ path: 'b', order: 0 }), packOf({ path: 'a', order: 1 })]
  assert.equal(winnerOf([second, first], 'named').id, 'organisation:b')
  assert.equal(winnerOf([packOf({ path: 'b' }), packOf({ path: 'a' })], 'named').id, 'organisation:a')
})

test('a pack that hides one of higher trust says so [K-47]', () => {
  const [low, high] = [packOf({ in: 'workspace', effective: 'user-confirmed' }), packOf({ in: 'builtin' })]
  assert.deepEqual(winnerOf([high, low], 'found'), {
    id: 'workspace:pumps',
    codes: ['collision', 'shadow-lower-trust'],
  })
  assert.deepEqual(winnerOf([packOf({ in: 'workspace' }), high], 'found').codes, ['collision'])
})

test('a stale pack gives way to a newer one that is ready, unless it is named [K-53]', () => {
  const stale = packOf({ in: 'workspace', status: 'stale', version: '1.9.0' })
  const newer = packOf({ in: 'user', version: '1.10.0' })
  assert.deepEqual(winnerOf([stale, newer], 'found'), { id: 'user:pumps', codes: ['collision'] })
  assert.equal(winnerOf([stale, newer], 'named').id, 'workspace:pumps')
  assert.equal(winnerOf([stale, packOf({ in: 'user', version: '1.8.9' })], 'found').id, 'workspace:pumps')
  const byDate = { in: 'workspace', status: 'stale', updated: '2026-01-01' } as const
  assert.equal(winnerOf([packOf(byDate), packOf({ in: 'user', updated: '2026-02-01' })], 'found').id, 'user:pumps')
  assert.equal(winnerOf([packOf(byDate), packOf({ in: 'user' })], 'found').id, 'workspace:pumps')
})

test('a newer pack that takes the place of a stale one of higher trust says so, too [K-47 K-53]', () => {
  const stale = packOf({ in: 'workspace', status: 'stale', version: '1.0.0' })
  const newer = packOf({ in: 'user', version: '2.0.0', effective: 'user-confirmed' })
  assert.deepEqual(winnerOf([stale, newer], 'found'), { id: 'user:pumps', codes: ['collision', 'shadow-lower-trust'] })
})

const anyPack = fc
  .record({
    name: fc.constantFrom('pumps', 'valves'),
    in: fc.constantFrom(...rootScope.options),
    order: fc.nat(2),
    path: fc.constantFrom('a', 'b', 'c', 'd'),
    effective: fc.constantFrom(...packTrust.options),
    status: fc.constantFrom(...packStatus.options),
    version: fc.constantFrom('1.0.0', '1.2.0', '2.0.0'),
  })
  .map(packOf)
const anyPacks = fc.uniqueArray(anyPack, { selector: ({ id }) => id, maxLength: 8 })

test('the order in which packs were found changes nothing, each name has one winner, each hidden trust is told [K-19 K-46 K-47]', () => {
  fc.assert(
    fc.property(anyPacks, fc.constantFrom('named' as const, 'found' as const), (packs, use) => {
      const found = winners(packs, use)
      assert.deepEqual(winners(packs.toReversed(), use), found)
      assert.deepEqual(
        found.map(({ pack }) => pack.header.name),
        [...new Set(packs.map(({ header }) => header.name))].sort(),
      )
      for (const { pack, warnings } of found) {
        const losers = packs.filter((other) => other.header.name === pack.header.name && other !== pack)
        assert.equal(warnings.filter(({ code }) => code === 'collision').length, losers.length)
        for (const loser of losers)
          assert.equal(
            warnings.some(({ code, message }) => code === 'shadow-lower-trust' && message.includes(`\`${loser.id}\``)),
            trustRank(loser.trust) > trustRank(pack.trust),
          )
      }
    }),
  )
})
