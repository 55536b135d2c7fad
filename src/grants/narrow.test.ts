import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import {
  anyPath,
  anyRequests,
  grantAt,
  isAtOrBelow,
  isDeepFrozen,
  makeIds,
  pathsOf,
  reachOf,
  timeAt,
} from '../../test/support/grants.ts'
import { Failure } from '../base/failure.ts'
import { type Grant, grant as grantShape } from '../model/grant.ts'
import { parseGrants } from './list.ts'
import { narrow } from './mint.ts'

function narrowed(parent: readonly Grant[], context?: unknown): readonly Grant[] {
  const request = context === undefined ? undefined : parseGrants(context)
  const ids = makeIds()((request ?? parent).length)
  return narrow(parent, request, { mintedBy: 'run:run_1', ids })
}

function refusal(parent: readonly Grant[], context: unknown): Failure {
  try {
    narrowed(parent, context)
  } catch (error) {
    assert(error instanceof Failure)
    return error
  }
  return assert.fail('the request should be refused')
}

const at = (tick: number): string => timeAt(tick) ?? ''
const billing = grantAt('app/user/u_123/billing')

test('without a request a child holds exactly what the parent holds live, path by path and time by time [G-29]', () => {
  const parent = [grantAt('app'), grantAt('app/user', { expires_at: at(3) }), grantAt('depot', { expires_at: at(5) })]
  const child = narrowed(parent)
  const held = (grants: readonly Grant[]) => grants.map(({ path, expires_at }) => [path, expires_at])
  assert.deepEqual(held(child), held(parent))
  assert.deepEqual(narrowed([]), [])
})

test('an empty request yields no grants [G-32]', () => {
  assert.deepEqual(narrowed([billing], []), [])
})

test('a child may hold what the parent holds, or what lies below [G-30]', () => {
  assert.deepEqual(pathsOf(narrowed([billing], ['app/user/u_123/billing'])), ['app/user/u_123/billing'])
  assert.deepEqual(pathsOf(narrowed([billing], ['app/user/u_123/billing/2026/06', 'app/user/u_123/billing/x'])), [
    'app/user/u_123/billing/2026/06',
    'app/user/u_123/billing/x',
  ])
})

test('a child may not go up, sideways, elsewhere, or share part of a segment [G-31]', () => {
  const outside = ['app/user/u_123', 'app', 'app/user/u_456', 'app/user/u_123/bill', 'app/user/u_123/billing2', 'other']
  for (const path of [...outside, 'App/user/u_123/billing', 'app/user/u_123/mail', 'app/user/u_123/Billing/x']) {
    const { code, message, data } = refusal([billing], [path])
    assert.deepEqual([code, data], ['grant.outside_parent', { path }])
    assert.equal(message, `grant \`${path}\` is not within the parent's grants`)
  }
  assert.equal(refusal([], ['app']).code, 'grant.outside_parent')
})

test('one outside path refuses the whole request, and what the parent holds is not told [G-32]', () => {
  const parent = [billing, grantAt('depot/secret-7')]
  const failure = refusal(parent, ['app/user/u_123/billing/x', 'depot', 'elsewhere'])
  assert.deepEqual(failure.data, { path: 'depot' })
  assert.equal(/billing|secret/.test(JSON.stringify([failure.message, failure.data, failure.help])), false)
})

test('a child grant ends when the request says, or with the last parent grant that covers it [G-34]', () => {
  const expiryOf = (parent: readonly Grant[], expiresAt: string | null) =>
    narrowed(parent, [{ path: 'a/b/c', expiresAt }])[0]?.expires_at
  const three = grantAt('a', { expires_at: at(3) })
  const five = grantAt('a/b', { expires_at: at(5) })
  const elsewhere = grantAt('x')
  assert.equal(expiryOf([three, five, elsewhere], null), at(5))
  assert.equal(expiryOf([five, three, elsewhere], at(9)), at(5))
  assert.equal(expiryOf([three, five, elsewhere], at(4)), at(4))
  assert.equal(expiryOf([three, five, grantAt('a/b/c')], null), null)
  assert.equal(expiryOf([grantAt('a/b/c'), three], at(9)), at(9))
  assert.equal(expiryOf([three], at(3)), at(3))
})

test('a child grant names those it comes from, their facts, and who asked for it [G-21]', () => {
  const parent = [
    grantAt('a', { id: 'gr_a', basis: ['subject:ada', 'key:k1'] }),
    grantAt('x', { id: 'gr_x', basis: ['subject:eve'] }),
    grantAt('a/b', { id: 'gr_b', basis: ['key:k1', 'key:k2'] }),
  ]
  const [child, ...others] = narrowed(parent, ['a/b/c'])
  assert.deepEqual(child, {
    path: 'a/b/c',
    id: 'gr_1',
    expires_at: null,
    minted_by: 'run:run_1',
    basis: ['subject:ada', 'key:k1', 'key:k2'],
    derived_from: ['gr_a', 'gr_b'],
  })
  assert.deepEqual(others, [])
  assert(grantShape.safeParse(child).success)
})

test('every child grant needs an id of its own, and is deep-frozen [G-17 G-21]', () => {
  assert.throws(() => narrow([billing], undefined, { mintedBy: 'x', ids: [] }), /an id of its own/)
  assert.throws(() => narrow([billing], [], { mintedBy: 'x', ids: ['gr_1'] }), /an id of its own/)
  assert(isDeepFrozen(narrowed([billing])))
  assert(isDeepFrozen(narrowed([billing], [billing.path])))
})

test('a request passes exactly when every path of it is reached, whatever the order of the lists [G-30 G-31 G-32]', () => {
  fc.assert(
    fc.property(fc.array(anyPath, { maxLength: 4 }), anyRequests, (held, request) => {
      const parent = held.map((path, index) => grantAt(path, { id: `gr_p${index}` }))
      const inside = request.every(({ path }) => held.some((branch) => isAtOrBelow(path, branch)))
      const outcome = (grants: readonly Grant[]): string[] => {
        try {
          return reachOf(pathsOf(narrowed(grants, request.toReversed())))
        } catch {
          return ['refused']
        }
      }
      assert.deepEqual(outcome(parent), inside ? reachOf(pathsOf(request)) : ['refused'])
      assert.deepEqual(outcome(parent.toReversed()), outcome(parent))
    }),
  )
})
