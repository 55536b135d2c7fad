import assert from 'node:assert/strict'
import { test } from 'vitest'
import { signerOf } from '../../../test/support/evidence.ts'
import { sshSign } from '../../../test/support/ssh-sign.ts'
import { didOf, type SshClaim, verifySshSignature } from './sshsig.ts'

const signer = signerOf(9)
const namespace = 'chp-host-anchor'
const message = '{"host_id": "x"}'
const good: SshClaim = {
  did: didOf(signer.publicKey),
  signature: sshSign(signer, namespace, message),
  namespace,
  message,
}

/** The same signature with its bytes changed. */
const rewritten = (change: (blob: Buffer) => Buffer): SshClaim => {
  const [begin = '', ...rest] = `${good.signature}`.trimEnd().split('\n')
  const end = rest.pop() ?? ''
  const blob = change(Buffer.from(rest.join(''), 'base64'))
  return { ...good, signature: [begin, blob.toString('base64'), end].join('\n') }
}

test('an SSH signature made here verifies, with and without the last line break, in lines of any length [H-82 H-84]', () => {
  assert.equal(verifySshSignature(good), true)
  assert.equal(verifySshSignature({ ...good, signature: `${good.signature}`.trimEnd() }), true)
  assert.equal(verifySshSignature(rewritten((blob) => blob)), true)
  const lines = `${good.signature}`.split('\n')
  assert.deepEqual(
    [lines[0], lines.at(-2), lines.at(-1)],
    ['-----BEGIN SSH SIGNATURE-----', '-----END SSH SIGNATURE-----', ''],
  )
  assert.equal(
    lines.slice(1, -3).every((line) => line.length === 70),
    true,
  )
})

/** Made with `ssh-keygen -Y sign -n chp-host-anchor` over the message, by a key made for this test and thrown away. */
const fromSshKeygen = {
  key: 'jIUVFuGkg/cPxhX2FosRk3HxR2qyMQNST47Ogju/w8o=',
  sha512: `-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgjIUVFuGkg/cPxhX2FosRk3HxR2
qyMQNST47Ogju/w8oAAAAPY2hwLWhvc3QtYW5jaG9yAAAAAAAAAAZzaGE1MTIAAABTAAAA
C3NzaC1lZDI1NTE5AAAAQLsYGz3C6rqWEmzjzatJfEU6DzdZw5aLKgFmC1IM1oeNApBTkM
eJWpNokKcNn2F7tUNx/Vq3whrGILLVXjMv2w4=
-----END SSH SIGNATURE-----
`,
  sha256: `-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgjIUVFuGkg/cPxhX2FosRk3HxR2
qyMQNST47Ogju/w8oAAAAPY2hwLWhvc3QtYW5jaG9yAAAAAAAAAAZzaGEyNTYAAABTAAAA
C3NzaC1lZDI1NTE5AAAAQCGw+oKXbh98wWL/95duX0yd3TXjJMdrpvKf5p1FMrKOa+OoNY
xrKa7ERi/7yYbV7OHPt8+YeutlBfhchib8NwA=
-----END SSH SIGNATURE-----
`,
}

test('an SSH signature made by ssh-keygen verifies, over either hash [H-82 H-84]', () => {
  const did = didOf(fromSshKeygen.key)
  for (const signature of [fromSshKeygen.sha512, fromSshKeygen.sha256]) {
    assert.equal(verifySshSignature({ did, signature, namespace, message }), true)
    assert.equal(verifySshSignature({ did, signature, namespace, message: 'other' }), false)
  }
})

test('an SSH signature made here has the fields of the format, in lines of 70 characters [H-82]', () => {
  const lines = sshSign(signer, namespace, message).split('\n')
  const blob = Buffer.from(lines.slice(1, -2).join(''), 'base64')
  assert.equal(blob.subarray(0, 10).toString('hex'), '53534853494700000001')
  assert.equal(blob.includes(Buffer.from('\0\0\0\x0fchp-host-anchor\0\0\0\0\0\0\0\x06sha512')), true)
  assert.equal(blob.includes(Buffer.from(signer.publicKey, 'base64')), true)
  assert.deepEqual(
    lines.map((line) => line.length),
    fromSshKeygen.sha512.split('\n').map((line) => line.length),
  )
})

test('an SSH signature is for one message, one namespace and one key [H-82 H-84]', () => {
  assert.equal(verifySshSignature({ ...good, message: `${message} ` }), false)
  assert.equal(verifySshSignature({ ...good, namespace: 'chp-store-head-anchor' }), false)
  assert.equal(verifySshSignature({ ...good, did: didOf(signerOf(8).publicKey) }), false)
  const foreign = sshSign(signer, 'chp-store-head-anchor', message)
  assert.equal(verifySshSignature({ ...good, signature: foreign }), false)
  assert.equal(verifySshSignature({ ...good, signature: foreign, namespace: 'chp-store-head-anchor' }), true)
})

test('an SSH signature is refused with any byte changed, added or missing [H-82 H-84]', () => {
  const length = Buffer.from(`${good.signature}`.split('\n').slice(1, -2).join(''), 'base64').length
  for (let place = 0; place < length; place++) {
    const flipped = rewritten((blob) => {
      const copy = Buffer.from(blob)
      copy[place] = (copy[place] ?? 0) ^ 1
      return copy
    })
    assert.equal(verifySshSignature(flipped), false, `byte ${place}`)
  }
  for (let kept = 0; kept < length; kept++) {
    assert.equal(verifySshSignature(rewritten((blob) => blob.subarray(0, kept))), false, `${kept} bytes`)
  }
  assert.equal(verifySshSignature(rewritten((blob) => Buffer.concat([blob, Buffer.alloc(4)]))), false)
  assert.equal(verifySshSignature(rewritten((blob) => Buffer.concat([blob, Buffer.alloc(1)]))), false)
})

test('an SSH signature is refused without its armour, in other base64, and when it is no text at all [H-82 H-84]', () => {
  const body = `${good.signature}`
  const others = [
    body.replace('BEGIN', 'BEGUN'),
    body.replace('END', 'ENDS'),
    body.slice(30),
    ` ${body}`,
    body.replace('=\n', '\n'),
    body.replace('U1NI', 'U1N*'),
    '',
    null,
    undefined,
    7,
    {},
  ]
  for (const signature of others) assert.equal(verifySshSignature({ ...good, signature }), false)
})

test('a `did:key` is the base58 of the key behind its prefix [H-82]', () => {
  assert.equal(
    didOf('KKyXQ2H1CUdZLMLVvzSv5z7u8mOfTUXGWRD5vFmEgAw='),
    didOf(Buffer.from('28ac974361f50947592cc2d5bf34afe73eeef2639f4d45c65910f9bc5984800c', 'hex').toString('base64')),
  )
  assert.match(didOf(signer.publicKey), /^did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/)
  const vector = 'Kay64UG8yvCyLhqU000LxzYeUm0L/hLIl5S8kyKWbdc='
  assert.equal(didOf(vector), 'did:key:z6MkhFwXNFWosLeugvSf4wcL9t3uuRXueGSFTRgSvHhWj5G2')
})

test('a `did:key` that names no Ed25519 key verifies nothing [H-82]', () => {
  const did = `${good.did}`
  const others = [
    did.replace('did:key:z', 'did:web:z'),
    did.replace('did:key:z', 'did:key:u'),
    `${did.slice(0, -1)}0`,
    `${did.slice(0, -1)}l`,
    did.slice(0, -1),
    `${did}1`,
    `did:key:z1${did.slice(9)}`,
    `did:key:z${'z'.repeat(60)}`,
    'did:key:z',
    '',
    null,
    7,
  ]
  for (const value of others) assert.equal(verifySshSignature({ ...good, did: value }), false, `${value}`)
})
