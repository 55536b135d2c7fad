import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { anyRequests, farPath, isAtOrBelow, isDeepFrozen, makeIds, pathsOf } from '../../test/support/grants.ts'
import { Failure } from '../base/failure.ts'
import { type Grant, grant as grantShape } from '../model/grant.ts'
import { parseGrants } from './list.ts'
import { type MintFacts, mintGrants } from './mint.ts'

const minting = (context: unknown, facts: Partial<MintFacts> = {}): readonly Grant[] => {
  const requests = parseGrants(context)
  const ids = makeIds()(requests.length)
  const rest = { protectedBranches: [], mintedBy: 'service:desk', basis: ['subject:ada', 'key:k1'], ids }
  return mintGrants(requests, { roots: ['acme'], ...rest, ...facts })
}

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'minted'
  } catch (error) {
    assert(error instanceof Failure)
    return error.code
  }
}

test('a minted grant says who minted it and from which facts, and derives from nothing [G-21]', () => {
  const expiresAt = '2026-06-16T15:00:00.000Z'
  const grants = minting(['acme/eu', { path: 'acme/us', expiresAt }])
  const both = { minted_by: 'service:desk', basis: ['subject:ada', 'key:k1'], derived_from: [] }
  assert.deepEqual(grants, [
    { path: 'acme/eu', id: 'gr_1', expires_at: null, ...both },
    { path: 'acme/us', id: 'gr_2', expires_at: expiresAt, ...both },
  ])
  for (const grant of grants) assert(grantShape.safeParse(grant).success)
})

test('minted grants are deep-frozen copies [G-17]', () => {
  const basis = ['subject:ada']
  const grants = minting(['acme/eu'], { basis })
  basis.push('subject:eve')
  assert(isDeepFrozen(grants))
  assert.deepEqual(grants[0]?.basis, ['subject:ada'])
})

test('every grant needs an id of its own [G-21]', () => {
  assert.throws(() => minting(['acme/eu', 'acme/us'], { ids: ['gr_1'] }), /an id of its own/)
  assert.throws(() => minting([], { ids: ['gr_1'] }), /an id of its own/)
})

test('a grant outside the roots of its tenant refuses the list, and no root is named [G-24]', () => {
  assert.deepEqual(pathsOf(minting(['acme', 'acme/eu/desk', 'depot/7'], { roots: ['acme', 'depot'] })), [
    'acme',
    'acme/eu/desk',
    'depot/7',
  ])
  for (const path of ['other', 'acme2', 'Acme', 'ac', 'other/acme']) {
    assert.throws(() => minting(['acme/eu', path]), {
      code: 'grant.outside_root',
      message: `grant \`${path}\` is outside this tenant`,
      data: { path },
    })
  }
  assert.equal(
    codeOf(() => minting(['acme'], { roots: ['acme/eu'] })),
    'grant.outside_root',
  )
})

test('a tenant without roots holds no grants; only the unbounded one needs no root [G-24]', () => {
  assert.throws(() => minting(['acme'], { roots: [] }), {
    code: 'grant.no_root',
    message: 'this tenant has no namespace root',
    data: {},
  })
  assert.deepEqual(minting([], { roots: [] }), [])
  assert.deepEqual(pathsOf(minting(['any/where'], { roots: 'unbounded' })), ['any/where'])
})

test('a protected branch takes only grants that are deep enough below it [G-25]', () => {
  const users = (segmentsBelowMin: number) => ({ protectedBranches: [{ path: 'acme/users', segmentsBelowMin }] })
  for (const path of ['acme', 'acme/users']) {
    for (const least of [0, 1, 2]) {
      assert.throws(() => minting([path], users(least)), {
        code: 'grant.protected',
        message: `grant \`${path}\` is too broad for a protected branch`,
        data: { path },
      })
    }
  }
  assert.equal(
    codeOf(() => minting(['acme/users/u1'], users(1))),
    'minted',
  )
  assert.equal(
    codeOf(() => minting(['acme/users/u1'], users(2))),
    'grant.protected',
  )
  assert.equal(
    codeOf(() => minting(['acme/users/u1/mail'], users(2))),
    'minted',
  )
  assert.equal(
    codeOf(() => minting(['acme/users2', 'acme/eu'], users(9))),
    'minted',
  )
  assert.equal(
    codeOf(() => minting(['acme/eu', 'acme'], users(1))),
    'grant.protected',
  )
  assert.equal(
    codeOf(() => minting(['acme/users'], { ...users(1), roots: 'unbounded' })),
    'grant.protected',
  )
})

test('what is minted lies under a root and never at or above a protected branch, whatever is asked [G-24 G-25]', () => {
  fc.assert(
    fc.property(anyRequests, fc.array(farPath, { maxLength: 3 }), farPath, (requests, roots, path) => {
      const facts = { roots, protectedBranches: [{ path, segmentsBelowMin: 1 }] }
      const asked = pathsOf(requests)
      const within = asked.every((one) => roots.some((root) => isAtOrBelow(one, root)))
      const broad = asked.some((one) => isAtOrBelow(path, one))
      assert.equal(codeOf(() => minting(requests, facts)) === 'minted', within && !broad)
    }),
  )
})
