import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { dataFolder } from '../../test/support/data.ts'
import { identityStatement, signerOf } from './signer.ts'

const folder = dataFolder('chp-vectors')
const seed = Buffer.from(Array.from({ length: 32 }, (_, byte) => byte))

test('a key id is the hash of the public key that follows from the seed [F-10] [H-87]', () => {
  assert.equal(signerOf(seed).keyId, '56475aa75463474c')
  assert.equal(signerOf(Buffer.alloc(32, 1)).keyId, '34750f98bd59fcfc')
})

test.skipIf(folder === undefined)('the identity claim is signed as the protocol has it [F-10]', () => {
  const read = (name: string) => JSON.parse(readFileSync(join(folder ?? '', name), 'utf8'))
  const statement = identityStatement(signerOf(seed), 'vector-host', '2026-01-01T00:00:00Z')
  assert.deepEqual(statement, read('signed-bundle.json').host_identity)
  assert.equal(statement.signature, read('expected.json').host_identity_signature_b64)
})
