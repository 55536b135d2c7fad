import assert from 'node:assert/strict'
import { test } from 'vitest'
import { copyOf, rotate, signatory, signerOf } from '../../../test/support/evidence.ts'
import { type MandateFields, signMandate, signRevocation } from '../../../test/support/evidence-statements.ts'
import { tamperings } from '../../../test/support/evidence-tamper.ts'
import { type Mandate, mandate as mandateShape } from '../../model/wire/mandate.ts'
import { type MandateOptions, revokes, scopeCovers, verifyMandate, verifyRevocation } from './mandate.ts'
import type { Verified } from './statement.ts'

const principal = signatory('owner', 1)
const delegate = signatory('planner', 2)
const helper = signatory('helper', 3)
const pins = new Set([principal, delegate, helper].map(({ signer }) => signer.publicKey))
const at = Date.parse('2026-06-16T15:00:00.000Z')
const year: MandateFields = {
  mandate_id: 'mnd_1',
  delegate_id: 'planner',
  scope: ['stock.*', 'depot.release'],
  valid_from: '2026-01-01T00:00:00.000Z',
  valid_until: '2026-12-31T00:00:00.000Z',
  created_at: '2026-01-01T00:00:00.000Z',
}
const root = signMandate(year, principal)
const narrower = (fields: Partial<MandateFields> = {}, parent: Mandate = root): Mandate =>
  signMandate(
    { ...year, mandate_id: 'mnd_2', delegate_id: 'helper', scope: ['stock.count'], parent, ...fields },
    delegate,
  )
const verify = (mandate: unknown, options: Partial<MandateOptions> = {}) =>
  verifyMandate(mandate, { at, pins, ...options })
const outcome = (verified: Verified<unknown>): string => (verified.ok ? 'ok' : verified.check)

test('a mandate makes its delegate the subject, and names who stands behind it [H-28 H-87]', () => {
  const verified = verify(root, { delegate: 'planner' })
  assert.deepEqual(verified, {
    ok: true,
    value: {
      mandate: root,
      subject: {
        id: 'planner',
        type: 'mandate',
        verified: true,
        mandate_id: 'mnd_1',
        principal: 'owner',
        root_principal: 'owner',
      },
    },
  })
  assert.deepEqual(mandateShape.parse(root), root)
  assert.deepEqual(root.scope, ['depot.release', 'stock.*'])
  assert.deepEqual(year.scope, ['stock.*', 'depot.release'])
})

test('a mandate is void after any change [H-28 H-87]', () => {
  for (const mandate of [root, narrower({ max_invocations: 2 })]) {
    for (const { value, kind, path } of tamperings(mandate)) {
      assert.equal(verify(value).ok, false, `${kind} ${path.join('/')}`)
    }
  }
})

test('a mandate holds in its window, both ends included, at the time of the host [H-28 H-87]', () => {
  for (const [time, expected] of [
    ['2025-12-31T23:59:59.999Z', 'window'],
    ['2026-01-01T00:00:00.000Z', 'ok'],
    ['2026-12-31T00:00:00.000Z', 'ok'],
    ['2026-12-31T00:00:00.001Z', 'window'],
  ] as const) {
    assert.equal(outcome(verify(root, { at: Date.parse(time) })), expected, time)
  }
})

test('a mandate needs a registered principal, and the claim to its key valid when it was made [H-28 H-87]', () => {
  assert.equal(outcome(verify(root, { pins: new Set() })), 'pin')
  assert.equal(outcome(verify(root, { pins: new Set([principal.signer.keyId]) })), 'pin')
  assert.equal(outcome(verify(root, { pins: 'any' })), 'ok')
  const late = signatory('owner', 1, { validFrom: '2026-01-01T00:00:00.001Z' })
  assert.equal(outcome(verify(signMandate(year, late))), 'window')
  const { identity } = signatory('stranger', 1)
  const borrowed = { ...root, principal: { ...root.principal, host_identity: identity } }
  assert.equal(outcome(verify(borrowed)), 'attestation')
})

test('a mandate of a rotated key is led back to the pin by the history it carries [H-28 H-87]', () => {
  const fresh = signatory('owner', 4)
  const handed = signMandate(year, fresh)
  const history = [rotate(fresh.signer, '2026-01-01T00:00:00.000Z', principal.signer)]
  assert.equal(outcome(verify(handed)), 'pin')
  assert.equal(outcome(verify({ ...handed, principal: { ...handed.principal, key_history: history } })), 'ok')
  const forged = [rotate(fresh.signer, '2026-01-01T00:00:00.000Z', signerOf(66))]
  assert.equal(outcome(verify({ ...handed, principal: { ...handed.principal, key_history: forged } })), 'pin')
})

test('a mandate is for the delegate it names [H-28 H-87]', () => {
  assert.equal(outcome(verify(root, { delegate: 'helper' })), 'delegate')
  assert.equal(outcome(verify(narrower(), { delegate: 'planner' })), 'delegate')
  assert.equal(outcome(verify(narrower(), { delegate: 'helper' })), 'ok')
})

test('a mandate that is none is refused, never thrown [H-28 H-87]', () => {
  for (const garbage of [null, [], 'x', {}, { kind: 'mandate' }]) assert.equal(outcome(verify(garbage)), 'shape')
  const circular: Record<string, unknown> = { ...root }
  circular['parent'] = circular
  assert.equal(outcome(verify(circular)), 'depth')
})

test('a sub-mandate names the one above and the first [H-29]', () => {
  const verified = verify(narrower())
  assert.deepEqual(verified.ok && verified.value.subject, {
    id: 'helper',
    type: 'mandate',
    verified: true,
    mandate_id: 'mnd_2',
    principal: 'planner',
    root_principal: 'owner',
  })
  assert.deepEqual([narrower().depth, narrower().parent_id], [1, 'mnd_1'])
})

test('only narrows: scope, window and cap [H-29]', () => {
  assert.equal(outcome(verify(narrower({ scope: ['stock.*'] }))), 'ok')
  assert.equal(outcome(verify(narrower({ scope: ['stock.count*', 'depot.release'] }))), 'ok')
  assert.equal(outcome(verify(narrower({ scope: ['stock.count', 'depot.release_all'] }))), 'scope')
  assert.equal(outcome(verify(narrower({ scope: ['*'] }))), 'scope')
  assert.equal(outcome(verify(narrower({ valid_until: '2026-12-31T00:00:00.001Z' }))), 'window')
  assert.equal(outcome(verify(narrower({ valid_from: '2025-12-31T00:00:00.000Z' }))), 'window')
  const capped = signMandate({ ...year, max_invocations: 3 }, principal)
  assert.equal(outcome(verify(narrower({ max_invocations: 3 }, capped))), 'ok')
  assert.equal(outcome(verify(narrower({ max_invocations: 4 }, capped))), 'cap')
  assert.equal(outcome(verify(narrower({}, capped))), 'cap')
  assert.equal(outcome(verify(narrower({ max_invocations: 9 }))), 'ok')
})

test('a sub-mandate is given by the delegate of the one above, whose key is registered too [H-29]', () => {
  const stranger = signMandate({ ...year, mandate_id: 'mnd_2', parent: root }, helper)
  assert.equal(outcome(verify(stranger)), 'chain')
  const posing = signMandate({ ...year, mandate_id: 'mnd_2', parent: root }, signatory('planner', 66))
  assert.equal(outcome(verify(posing)), 'pin')
  assert.equal(outcome(verify(posing, { pins: 'any' })), 'ok')
})

test('a sub-mandate carries the very parent it names, one step deeper [H-29]', () => {
  const other = signMandate({ ...year, mandate_id: 'mnd_9' }, principal)
  assert.equal(outcome(verify({ ...narrower(), parent: other })), 'chain')
  const { parent: _, ...orphan } = narrower()
  assert.equal(outcome(verify(orphan)), 'chain')
  const deep = narrower({}, { ...root, depth: 4 })
  assert.equal(deep.depth, 5)
  assert.equal(outcome(verify({ ...deep, parent: root })), 'depth')
})

test('a sub-mandate ends at the eighth step [H-29]', () => {
  const chain: Mandate[] = [signMandate({ ...year, delegate_id: 'owner' }, principal)]
  for (let depth = 1; depth <= 9; depth++) {
    const parent = chain.at(-1) as Mandate
    chain.push(signMandate({ ...year, mandate_id: `mnd_${depth + 1}`, delegate_id: 'owner', parent }, principal))
  }
  assert.equal(outcome(verify(chain[8])), 'ok')
  assert.equal(outcome(verify(chain[9])), 'depth')
})

test('a sub-mandate dies with any mandate above it [H-29]', () => {
  const fields = { revoked_at: '2026-06-01T00:00:00.000Z', reason: 'withdrawn' }
  const first = signRevocation({ ...fields, mandate_id: 'mnd_1' }, principal)
  const own = signRevocation({ ...fields, mandate_id: 'mnd_2' }, delegate)
  assert.equal(outcome(verify(narrower(), { revocations: [first] })), 'revoked')
  assert.equal(outcome(verify(narrower(), { revocations: [own] })), 'revoked')
  assert.equal(outcome(verify(root, { revocations: [own] })), 'ok')
  const foreign = signRevocation({ ...fields, mandate_id: 'mnd_1' }, delegate)
  assert.equal(outcome(verify(narrower(), { revocations: [foreign, null, 'x'] })), 'ok')
  assert.equal(outcome(verify(narrower(), { revocations: [foreign, first] })), 'revoked')
})

const revocation = signRevocation(
  { mandate_id: 'mnd_1', revoked_at: '2026-06-01T00:00:00.000Z', reason: 'withdrawn' },
  principal,
)

test('a revocation verifies by itself, and revokes the mandate it names under the same key [H-84]', () => {
  assert.deepEqual(verifyRevocation(revocation), { ok: true, value: revocation })
  assert.equal(revokes(revocation, root), true)
  assert.equal(revokes(revocation, narrower()), false)
  assert.equal(revokes(revocation, signMandate(year, delegate)), false)
})

test('a revocation is nothing after any change [H-84]', () => {
  for (const { value, kind, path } of tamperings(revocation)) {
    assert.equal(verifyRevocation(value).ok, false, `${kind} ${path.join('/')}`)
    assert.equal(revokes(value, root), false)
  }
  const expired = signatory('owner', 1, { validUntil: '2026-05-31T00:00:00.000Z' })
  assert.equal(outcome(verifyRevocation(signRevocation(copyOf(revocation), expired))), 'window')
})

test('a scope entry is an exact id, or a prefix before a star [H-29]', () => {
  const scope = ['stock.*', 'depot.release']
  for (const entry of ['stock.', 'stock.count', 'stock.a.b', 'stock.*', 'stock.c*', 'depot.release']) {
    assert.equal(scopeCovers(scope, entry), true, entry)
  }
  for (const entry of ['stock', 'stoc*', 'depot.release.now', 'depot.release*', 'depot', '*', '']) {
    assert.equal(scopeCovers(scope, entry), false, entry)
  }
  assert.equal(scopeCovers(['*'], 'anything'), true)
  assert.equal(scopeCovers([], 'anything'), false)
})
