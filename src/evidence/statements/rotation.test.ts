import assert from 'node:assert/strict'
import { test } from 'vitest'
import { rotate, signerOf } from '../../../test/support/evidence.ts'
import { tamperings } from '../../../test/support/evidence-tamper.ts'
import { stable } from '../../base/canonical.ts'
import { keyRotation } from '../../model/evidence.ts'
import { readRotation, trustedKeys } from './rotation.ts'

const [a, b, c, mallory] = [signerOf(1), signerOf(2), signerOf(3), signerOf(66)]
const at = '2026-06-16T15:00:00.000Z'
const toB = rotate(b, at, a)
const toC = rotate(c, at, b)

test('a key rotation is the old key naming the new one [H-84 H-87 F-10]', () => {
  assert.deepEqual(keyRotation.parse(toB), toB)
  const { signature, ...header } = toB
  assert.deepEqual(header, {
    old_key_id: a.keyId,
    old_public_key: a.publicKey,
    new_key_id: b.keyId,
    new_public_key: b.publicKey,
    rotated_at: at,
  })
  assert.equal(signature, a.sign(stable(header)))
  assert.deepEqual(readRotation(toB), toB)
})

test('a key rotation is nothing after any change, and with key ids that are not computed [H-84 H-87 F-10]', () => {
  for (const { value, kind, path } of tamperings(toB)) {
    assert.equal(readRotation(value), undefined, `${kind} ${path.join('/')}`)
  }
  for (const fields of [{ old_key_id: c.keyId }, { new_key_id: c.keyId }]) {
    const { signature: _, ...header } = { ...toB, ...fields }
    assert.equal(readRotation({ ...header, signature: a.sign(stable(header)) }), undefined)
  }
  for (const garbage of [null, [], 'x', {}]) assert.equal(readRotation(garbage), undefined)
})

test('a key rotation leads from the own pin to the newest key, in whatever order the records come [H-84 H-87 F-10]', () => {
  const all = [a, b, c].map((key) => key.publicKey)
  assert.deepEqual([...trustedKeys([a.publicKey], [toB, toC])].toSorted(), all.toSorted())
  assert.deepEqual([...trustedKeys([a.publicKey], [toC, toB])].toSorted(), all.toSorted())
  assert.deepEqual([...trustedKeys([b.publicKey], [toB, toC])].toSorted(), [b.publicKey, c.publicKey].toSorted())
  assert.deepEqual([...trustedKeys([a.publicKey])], [a.publicKey])
})

test('no other key can extend the trust, and a circle ends [H-84 H-87 F-10]', () => {
  const stolen = { ...toB, new_public_key: mallory.publicKey, new_key_id: mallory.keyId }
  assert.deepEqual([...trustedKeys([a.publicKey], [stolen, rotate(mallory, at, mallory), null])], [a.publicKey])
  assert.deepEqual([...trustedKeys([], [toB])], [])
  assert.equal(trustedKeys([a.publicKey], [toB, rotate(a, at, b)]).size, 2)
})

test('a key that hands over to two leads to neither, nor to what follows them [H-84 H-87 F-10]', () => {
  const fork = rotate(mallory, at, a)
  assert.deepEqual([...trustedKeys([a.publicKey], [toB, fork, toC])], [a.publicKey])
  assert.deepEqual([...trustedKeys([a.publicKey], [fork, toC, toB])], [a.publicKey])
  assert.deepEqual([...trustedKeys([b.publicKey], [toB, fork, toC])], [b.publicKey, c.publicKey])
  assert.deepEqual([...trustedKeys([a.publicKey], [toB, rotate(b, '2026-06-17T15:00:00.000Z', a)])].length, 2)
  const forged = { ...fork, rotated_at: '2026-06-17T15:00:00.000Z' }
  assert.equal(trustedKeys([a.publicKey], [toB, forged]).has(b.publicKey), true)
})
