import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { farPath, isAtOrBelow, world } from '../../test/support/grants.ts'
import { covers, makeCoverage } from './cover.ts'

test('a grant covers its node and all below it, and nothing else [G-04 G-18]', () => {
  for (const path of ['acme/eu', 'acme/eu/desk', 'acme/eu/desk/7']) assert.equal(covers('acme/eu', path), true, path)
  const others = [
    'acme',
    'acme/e',
    'acme/eur',
    'acme/eu-2',
    'acme/eu.x',
    'acme/us',
    'acme/us/eu',
    'eu',
    'acme/EU',
    'Acme/eu/x',
  ]
  for (const path of [...others, 'acme/eu0/x', 'xacme/eu', 'acm/eeu/x'])
    assert.equal(covers('acme/eu', path), false, path)
})

test('coverage is that of whole segments, on every pair of a small world [G-18]', () => {
  for (const grant of world.slice(0, 90)) {
    const coverage = makeCoverage([grant])
    for (const path of world) {
      assert.equal(covers(grant, path), isAtOrBelow(path, grant), `${grant} ${path}`)
      assert.equal(coverage(path), isAtOrBelow(path, grant), `${grant} ${path}`)
    }
  }
})

test('coverage is a partial order [G-18]', () => {
  fc.assert(
    fc.property(farPath, farPath, farPath, (a, b, c) => {
      assert(covers(a, a))
      if (covers(a, b) && covers(b, a)) assert.equal(a, b)
      if (covers(a, b) && covers(b, c)) assert(covers(a, c))
    }),
  )
})

const grantLists = fc.array(farPath, { maxLength: 24 })

test('prepared coverage is that of any of the grants, in whatever order they stand [G-04 G-18]', () => {
  fc.assert(
    fc.property(grantLists, farPath, (grants, path) => {
      const expected = grants.some((grant) => isAtOrBelow(path, grant))
      assert.equal(makeCoverage(grants)(path), expected)
      assert.equal(makeCoverage(grants.toReversed())(path), expected)
      assert.equal(makeCoverage([...grants, ...grants])(path), expected)
    }),
  )
})

test('prepared coverage of no grants covers nothing, and later changes of the list do not count [G-17]', () => {
  const grants: string[] = []
  const coverage = makeCoverage(grants)
  grants.push('acme')
  assert.equal(coverage('acme'), false)
})
