import assert from 'node:assert/strict'
import { test } from 'vitest'
import {
  attest,
  createdAt,
  hostId,
  hostIdentity,
  hostKey,
  rotate,
  signerOf,
  storyBundle,
} from '../../../test/support/evidence.ts'
import { edited, faultOf, resigned, verdictsOf } from '../../../test/support/evidence-lies.ts'
import { canonical, stable } from '../../base/canonical.ts'
import type { EvidenceBundle } from '../../model/evidence.ts'
import { signedText } from '../bundle.ts'

test('the header is signed as a whole [H-82 H-85 H-87 H-89]', () => {
  const fault = 'signature /signature/signature: the signature does not verify'
  assert.equal(faultOf(edited(['created_at'], '2026-06-16T18:00:00.001Z')), fault)
  assert.equal(faultOf(edited(['completeness', 'as_of_sequence'], 51)), fault)
  assert.equal(faultOf(edited(['canonicalization'], 'chp-jcs-v1')), fault)
  const { canonicalization: _, ...unnamed } = storyBundle()
  assert.equal(faultOf(unnamed), fault)
})

test('a header signed over RFC 8785 is read as such [H-82 H-85 H-87 H-89]', () => {
  const bundle = { ...storyBundle(), canonicalization: 'chp-jcs-v1' } as never as EvidenceBundle
  const { host_id, protocol_version, created_at, canonicalization, root_hash, completeness } = bundle
  const header = { host_id, protocol_version, created_at, canonicalization, root_hash, completeness }
  assert.equal(signedText(bundle), canonical(header))
  assert.equal(signedText(storyBundle()), stable({ ...header, canonicalization: 'chp-stable-v1' }))
  assert.equal(faultOf(resigned(bundle)), null)
})

test('a key id is computed, never believed [H-82 H-85 H-87 H-89]', () => {
  assert.equal(
    faultOf(edited(['signature', 'key_id'], '0000000000000000')),
    'key id /signature/key_id: the key id is not that of the public key',
  )
  const identity = hostIdentity()
  const { signature: _, ...claim } = { ...identity, key_id: '0000000000000000' }
  const forged = { ...claim, signature: hostKey.sign(stable(claim as never)) }
  assert.equal(
    faultOf(edited(['host_identity'], forged)),
    "key id /host_identity: the identity's key id is not that of its key",
  )
})

test('the identity names this host and this key, under its own signature [H-82 H-85 H-87 H-89]', () => {
  const other = signerOf(2)
  const claim = (hostName: string, signer = hostKey) =>
    attest({ hostId: hostName, validFrom: null, validUntil: null }, signer)
  const at = 'attestation /host_identity:'
  assert.equal(faultOf(edited(['host_identity'], claim('elsewhere'))), `${at} the identity names another host`)
  assert.equal(faultOf(edited(['host_identity'], claim(hostId, other))), `${at} the identity names another key`)
  assert.equal(
    faultOf(edited(['host_identity', 'valid_until'], null)),
    `${at} the identity's signature does not verify`,
  )
  assert.equal(faultOf(edited(['host_identity'], claim(hostId))), null)
  assert.equal(faultOf(resigned(storyBundle(), other)), `${at} the identity names another key`)
})

test('the claim was valid when the bundle was made, both ends included, compared as instants [H-82 H-85 H-87 H-89]', () => {
  const within = (validFrom: string | null, validUntil: string | null) =>
    faultOf(edited(['host_identity'], attest({ hostId, validFrom, validUntil }, hostKey)))
  const fault = 'window /created_at: the bundle was made outside the window of the identity'
  assert.equal(within(createdAt, createdAt), null)
  assert.equal(within('2026-06-16T20:00:00+02:00', '2026-06-16T18:00:00Z'), null)
  assert.equal(within('2026-06-16T18:00:00.001Z', null), fault)
  assert.equal(within(null, '2026-06-16T17:59:59.999Z'), fault)
  assert.equal(within('2026-02-31T00:00:00Z', null), fault)
  assert.equal(within(null, '2027-13-01T00:00:00Z'), fault)
})

test('an anchor of a known type must have signed for this key; others prove nothing [H-82 H-85 H-87 H-89]', () => {
  const identity = (anchors: NonNullable<ReturnType<typeof hostIdentity>['anchors']>) =>
    edited(['host_identity'], attest({ hostId, validFrom: null, validUntil: null, anchors }, hostKey))
  const [good, unknown] = hostIdentity().anchors ?? []
  assert.equal(verdictsOf(identity([good as never]))['anchors'], 'pass')
  assert.equal(verdictsOf(identity([unknown as never]))['anchors'], 'absent')
  const fault = 'anchors /host_identity/anchors: an anchor did not sign for this key'
  assert.equal(faultOf(identity([{ ...good, type: 'did', did: 'did:key:z6Mk' }])), fault)
  assert.equal(faultOf(identity([good as never, { type: 'did' }])), fault)
})

test('a pinned key may have handed over to the one that signs [H-82 H-85 H-87 H-89]', () => {
  const old = signerOf(2)
  const rotation = rotate(hostKey, '2026-05-01T00:00:00.000Z', old)
  const pinned = (rotations: readonly unknown[]) => faultOf(storyBundle(), { pins: [old.publicKey], rotations })
  assert.equal(pinned([rotation]), null)
  assert.equal(pinned([]), 'pin /public_key: no pin leads to the key of the bundle')
  assert.equal(pinned([{ ...rotation, rotated_at: '2026-05-02T00:00:00.000Z' }])?.startsWith('pin '), true)
})

test('a key that was replaced vouches for no bundle that is dated after that, pinned or not [H-84 H-85 H-87 H-89]', () => {
  const fault = (at: readonly string[], more: object = {}) =>
    faultOf(storyBundle(), { rotations: at.map((each) => rotate(signerOf(2), each, hostKey)), ...more })
  const early = '2026-06-16T19:59:59.999+02:00'
  const retired = `window /created_at: key ${hostKey.keyId} was replaced at ${early}, before the bundle was made`
  for (const trust of [{}, { pins: [hostKey.publicKey] }]) {
    assert.equal(fault([early], trust), retired)
    assert.equal(fault([createdAt], trust), null)
    // A holder of the old key could sign the same again, with a later time.
    assert.equal(fault(['2026-06-17T00:00:00.000Z', early], trust), retired)
  }
  assert.equal(fault(['2026-02-31T00:00:00Z'])?.startsWith('window '), true)
  const forged = { ...rotate(signerOf(2), createdAt, hostKey), rotated_at: early }
  assert.equal(faultOf(storyBundle(), { rotations: [forged] }), null)
})

test('a pin may be for one host, and then counts for no other [H-82 H-85 H-87 H-89]', () => {
  const pinned = (host: string) => faultOf(storyBundle(), { pins: [{ host, key: hostKey.publicKey }] })
  assert.equal(pinned(hostId), null)
  assert.equal(pinned('elsewhere'), 'pin /public_key: no pin leads to the key of the bundle')
  const old = signerOf(2)
  const rotations = [rotate(hostKey, '2026-05-01T00:00:00.000Z', old)]
  assert.equal(faultOf(storyBundle(), { pins: [{ host: hostId, key: old.publicKey }], rotations }), null)
  const others = [{ host: 'elsewhere', key: old.publicKey }, signerOf(3).publicKey]
  assert.equal(faultOf(storyBundle(), { pins: others, rotations })?.startsWith('pin '), true)
})

test('of a key that handed over to two, neither is trusted [H-82 H-85 H-87 H-89]', () => {
  const [old, other] = [signerOf(2), signerOf(3)]
  const to = (next: typeof old, at = '2026-05-01T00:00:00.000Z') => rotate(next, at, old)
  const fault = (rotations: readonly unknown[]) => faultOf(storyBundle(), { pins: [old.publicKey], rotations })
  const fork = `pin /public_key: key ${old.keyId} handed over to two keys, so neither is trusted`
  assert.equal(fault([to(hostKey), to(other)]), fork)
  assert.equal(fault([to(other), to(hostKey)]), fork)
  assert.equal(fault([to(hostKey), to(hostKey, '2026-05-02T00:00:00.000Z')]), null)
  assert.equal(fault([to(hostKey), rotate(other, createdAt, signerOf(4)), rotate(old, createdAt, signerOf(4))]), null)
  const direct = { pins: [hostKey.publicKey, old.publicKey], rotations: [to(hostKey), to(other)] }
  assert.equal(faultOf(storyBundle(), direct), null)
})
