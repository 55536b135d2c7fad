import assert from 'node:assert/strict'
import { test } from 'vitest'
import { signerOf } from '../../../test/support/evidence.ts'
import { type GrantFields, signGrant } from '../../../test/support/evidence-statements.ts'
import { tamperings } from '../../../test/support/evidence-tamper.ts'
import { verifyGrant } from './grant.ts'
import type { Verified } from './statement.ts'

const ida = signerOf(0xa1)
const pins = new Set([ida.publicKey])
const until = '2026-06-16T17:00:00.000Z'
const at = Date.parse(until)
const minimal: GrantFields = {
  approval_id: 'apr_31',
  invocation_id: 'inv_7Q2',
  valid_until: until,
  payload_commitment: 'pc-abc123',
}
const bound: GrantFields = {
  ...minimal,
  invocation_digest: `sha256:${'a'.repeat(64)}`,
  action_digest: `sha256:${'b'.repeat(64)}`,
  binding_id: 'self',
  audience: 'northlight-depot',
  max_attempts: 1,
}
const outcome = (verified: Verified<unknown>): string => (verified.ok ? 'ok' : `${verified.check}: ${verified.message}`)

test('an approval grant verifies under a pinned key up to and including its last instant [H-54 H-87]', () => {
  for (const fields of [minimal, bound]) {
    const grant = signGrant(fields, ida, 'ida')
    assert.deepEqual(verifyGrant(grant, { at, pins }), { ok: true, value: grant })
    assert.equal(grant.approver_identity.host_id, 'ida')
    assert.equal(outcome(verifyGrant(grant, { at: at + 1, pins })), 'window: the grant has expired')
  }
})

test('an approval grant of a key that is not registered counts for nothing; `any` leaves that to the caller [H-54 H-87]', () => {
  const grant = signGrant(bound, ida)
  const refused = 'pin: the key is not that of a registered approver'
  assert.equal(outcome(verifyGrant(grant, { at, pins: new Set() })), refused)
  assert.equal(outcome(verifyGrant(grant, { at, pins: new Set([ida.keyId]) })), refused)
  assert.equal(outcome(verifyGrant(grant, { at, pins: 'any' })), 'ok')
})

test('an approval grant is void after any change but that of the name beside the key [H-54 H-87]', () => {
  const open = /^approver_identity\/host_id$/
  for (const fields of [minimal, bound]) {
    for (const { value, kind, path } of tamperings(signGrant(fields, ida))) {
      if (kind === 'change' && open.test(path.join('/'))) continue
      assert.equal(verifyGrant(value, { at, pins: 'any' }).ok, false, `${kind} ${path.join('/')}`)
    }
  }
})

test('an approval grant names as approver the very key that signed [H-54 H-87]', () => {
  const jo = signerOf(0xb2)
  const grant = signGrant(bound, ida)
  const claimed = { ...grant, approver: jo.keyId }
  assert.equal(outcome(verifyGrant(claimed, { at, pins: 'any' })), 'signature: the signature does not verify')
  const own = signGrant(bound, { ...ida, keyId: jo.keyId })
  assert.equal(outcome(verifyGrant(own, { at, pins: 'any' })), 'key id: the key id is not that of the key')
  const mixed = { ...own, signature: { ...own.signature, key_id: ida.keyId } }
  assert.equal(outcome(verifyGrant(mixed, { at, pins: 'any' })), 'key id: the approver is not the key that signed')
})

test('an approval grant is good only for what it is presented for [H-54 H-87]', () => {
  const presented = {
    approval_id: 'apr_31',
    invocation_id: 'inv_7Q2',
    payload_commitment: 'pc-abc123',
    invocation_digest: `sha256:${'a'.repeat(64)}`,
    action_digest: `sha256:${'b'.repeat(64)}`,
    binding_id: 'self',
    audience: 'northlight-depot',
  }
  const grant = signGrant(bound, ida)
  assert.equal(outcome(verifyGrant(grant, { at, pins, presented })), 'ok')
  for (const member of Object.keys(presented)) {
    const other = { ...presented, [member]: 'another' }
    assert.equal(
      outcome(verifyGrant(grant, { at, pins, presented: other })),
      `presented: the grant is for another \`${member}\``,
    )
  }
  const protocolOnly = signGrant(minimal, ida)
  assert.equal(
    outcome(verifyGrant(protocolOnly, { at, pins, presented })),
    'presented: the grant is for another `invocation_digest`',
  )
})

test('an approval grant that is none is refused, never thrown [H-54 H-87]', () => {
  for (const garbage of [null, [], 'x', {}, { kind: 'approval-grant' }]) {
    assert.equal(outcome(verifyGrant(garbage, { at, pins })).startsWith('shape: '), true)
  }
  const when = signGrant({ ...minimal, valid_until: '2026-02-31T00:00:00Z' }, ida)
  assert.equal(outcome(verifyGrant(when, { at: 0, pins })), 'window: the grant has expired')
})
