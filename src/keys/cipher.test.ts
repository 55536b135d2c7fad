import assert from 'node:assert/strict'
import { test } from 'vitest'
import { decrypt, encrypt } from './cipher.ts'

const key = Buffer.alloc(32, 7)
const value = Buffer.from('value')
let nonce = 0
const random = (bytes: number): Buffer => Buffer.alloc(bytes, nonce++)

test('a value decrypts with its key in its place, and nowhere else [F-10] [F-11]', () => {
  const text = encrypt(key, ['v1', 'ab', 'c'], value, random)
  assert.deepEqual(decrypt(key, ['v1', 'ab', 'c'], text), value)
  const elsewhere = [['v1', 'a', 'bc'], ['v1', 'abc'], ['v1', 'ab', 'c', ''], ['v1', 'c', 'ab'], ['v2', 'ab', 'c'], []]
  for (const binds of elsewhere) assert.equal(decrypt(key, binds, text), undefined)
  assert.equal(decrypt(Buffer.alloc(32, 8), ['v1', 'ab', 'c'], text), undefined)
})

test('a changed, cut or foreign text does not decrypt [F-10] [F-11]', () => {
  const raw = Buffer.from(encrypt(key, [], value, random), 'base64')
  for (const at of raw.keys()) {
    const bad = Buffer.from(raw)
    bad[at] = (bad[at] ?? 0) ^ 1
    assert.equal(decrypt(key, [], bad.toString('base64')), undefined)
    assert.equal(decrypt(key, [], raw.subarray(0, at).toString('base64')), undefined)
  }
  for (const text of ['', 'no', '"{}']) assert.equal(decrypt(key, [], text), undefined)
})

test('the same value never encrypts to the same text [F-10] [F-11]', () => {
  assert.notEqual(encrypt(key, [], value, random), encrypt(key, [], value, random))
})
