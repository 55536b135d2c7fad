import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { z } from 'zod'
import { copyOf, storyBundle } from '../../test/support/evidence.ts'
import {
  callRecord,
  checkpoint,
  evidenceBundle,
  evidenceEvent,
  foreignBundle,
  foreignEvent,
  hostIdentity,
  keyRotation,
  publicKey,
  signatureText,
  wireTime,
} from './evidence.ts'

const bundle = storyBundle()
const event = bundle.events[0] as object
const accepts = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success

describe('the shapes of evidence [F-06 H-82]', () => {
  test('what we write is closed and complete', () => {
    assert.equal(accepts(evidenceBundle, bundle), true)
    for (const member of Object.keys(event)) {
      const { [member]: _, ...rest } = copyOf(event) as Record<string, unknown>
      assert.equal(accepts(evidenceEvent, rest), false, member)
    }
    assert.equal(accepts(evidenceEvent, { ...event, more: 1 }), false)
    assert.equal(accepts(evidenceEvent, { ...event, timestamp: '2026-06-16T15:00:00Z' }), false)
    assert.equal(accepts(evidenceEvent, { ...event, payload: { note: 'no record' } }), false)
    assert.equal(accepts(evidenceEvent, { ...event, payload: { chp_withheld: true } }), true)
    assert.equal(accepts(evidenceEvent, { ...event, payload: {} }), true)
    assert.equal(accepts(evidenceBundle, { ...bundle, more: 1 }), false)
  })

  test('what we read from others is closed, and may leave out what the protocol leaves open', () => {
    const { sequence, redacted, assurance, subject, denial, error, capability_version, outcome, prev_hash, ...rest } =
      event as Record<string, unknown>
    const { hash_scheme, payload_commitment, content_hash, ...bare } = rest
    assert.equal(accepts(foreignEvent, bare), true)
    assert.equal(accepts(foreignEvent, { ...bare, timestamp: '2026-06-16T17:00:00.123456789+02:00' }), true)
    assert.equal(accepts(foreignEvent, { ...bare, admission: [1], execution_id: 'x', action_digest: null }), true)
    assert.equal(accepts(foreignEvent, { ...bare, more: 1 }), false)
    for (const member of Object.keys(bare)) {
      const { [member]: _, ...less } = bare
      assert.equal(accepts(foreignEvent, less), false, member)
    }
    const { completeness: _, canonicalization: __, ...open } = bundle
    assert.equal(accepts(foreignBundle, open), true)
    assert.equal(accepts(evidenceBundle, open), false)
    assert.equal(accepts(foreignBundle, { ...bundle, events: [] }), false)
  })

  test('members that would be left out when empty cannot be empty, so none can be added unseen', () => {
    const { anchors, ...identity } = bundle.host_identity as Record<string, unknown>
    assert.equal(accepts(hostIdentity, identity), true)
    assert.equal(accepts(hostIdentity, { ...identity, anchors }), true)
    assert.equal(accepts(hostIdentity, { ...identity, anchors: [] }), false)
    assert.equal(accepts(hostIdentity, { ...identity, enc_public_key: '' }), false)
  })

  test('keys and signatures have one text each: padded, of the right length, without stray bits', () => {
    assert.equal(accepts(publicKey, 'A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg='), true)
    for (const text of [
      'A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbh=',
      'A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg',
      '',
      'AAAA',
    ]) {
      assert.equal(accepts(publicKey, text), false, text)
    }
    const signature = bundle.signature?.signature ?? ''
    assert.equal(accepts(signatureText, signature), true)
    assert.equal(accepts(signatureText, `${signature.slice(0, 85)}B==`), false)
    assert.equal(accepts(signatureText, signature.slice(0, -2)), false)
  })

  test('times of others have any precision and offset, and nothing else', () => {
    for (const text of ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.1Z', '2026-01-01T00:00:00+01:00']) {
      assert.equal(accepts(wireTime, text), true, text)
    }
    for (const text of [
      '2026-01-01',
      '2026-01-01 00:00:00Z',
      '2026-01-01T00:00:00',
      '2026-01-01t00:00:00z',
      '٢٠٢٦-01-01T00:00:00Z',
    ]) {
      assert.equal(accepts(wireTime, text), false, text)
    }
  })

  test('records, rotations, completeness and checkpoints are closed', () => {
    const record = Reflect.get(Reflect.get(event, 'payload'), 'decision')
    assert.equal(accepts(callRecord, record), true)
    assert.equal(accepts(callRecord, { ...record, more: 1 }), false)
    assert.equal(accepts(foreignBundle, { ...bundle, completeness: { ...bundle.completeness, more: 1 } }), false)
    for (const schema of [keyRotation, checkpoint]) assert.equal(accepts(schema, {}), false)
  })
})
