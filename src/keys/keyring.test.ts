import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, describe, test } from 'vitest'
import { canonical, stable } from '../base/canonical.ts'
import { keyIdOf, verifySignature } from '../base/ed25519.ts'
import { Failure } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { openRoot } from '../files/root.ts'
import { identityDocument } from '../model/wire/host.ts'
import type { Random } from './cipher.ts'
import { keyFileName } from './key-file.ts'
import { type Keyring, openKeyring } from './keyring.ts'
import { signerOf } from './signer.ts'

const made: string[] = []

afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true })
})

async function keysFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ambit-keys-'))
  made.push(folder)
  return folder
}

/** The given bytes first, then a stream that never repeats. */
function scripted(...first: Uint8Array[]): Random {
  let count = 0
  return (bytes) => first.shift() ?? Buffer.from(sha256(`${count++}`), 'hex').subarray(0, bytes)
}

const bytes32 = (byte: number): Buffer => Buffer.alloc(32, byte)
const clock = { now: () => Date.UTC(2026, 5, 16, 15) }

async function ring(folder: string, options: { passphrase?: string; random?: Random } = {}): Promise<Keyring> {
  const files = await openRoot(folder, { create: true, mode: 0o700 })
  return openKeyring({ files, clock, random: scripted(), ...options })
}

const coded =
  (...codes: string[]) =>
  (error: unknown): boolean =>
    error instanceof Failure && codes.includes(error.code)

test('a host gets one key: a file of its own, mode 0600, whose ids follow from the key [F-10] [H-87]', async () => {
  const folder = await keysFolder()
  const keyring = await ring(folder, { random: scripted(bytes32(1), bytes32(0x11)) })
  const keys = await keyring.create('northlight-depot')
  assert.deepEqual(keys, {
    hostId: 'northlight-depot',
    keyId: '34750f98bd59fcfc',
    publicKey: keys.publicKey,
    createdAt: '2026-06-16T15:00:00.000Z',
    history: [],
    revoked: [],
  })
  assert.equal(keyIdOf(keys.publicKey), keys.keyId)
  assert.equal((await stat(join(folder, 'northlight-depot.key.json'))).mode & 0o777, 0o600)
  const signer = await keyring.signer('northlight-depot')
  assert.deepEqual([signer.keyId, signer.publicKey], [keys.keyId, keys.publicKey])
  assert(verifySignature(keys.publicKey, 'text', signer.sign('text')))
  assert(!verifySignature(keys.publicKey, 'test', signer.sign('text')))
})

test('the digest of a host is keyed with its digest key, which rotation keeps [F-10]', async () => {
  const keyring = await ring(await keysFolder(), { random: scripted(bytes32(1), bytes32(0x11)) })
  await keyring.create('northlight-depot')
  const parts = ['ambit-context-v1', 'consignee', canonical('Clinic 88, Tromsø')]
  const expected = 'hmac-sha256:fea811b5cc6cc404abd804d414064d4b6248b9cfa9084febb00f99c823f09ad7'
  assert.equal((await keyring.digest('northlight-depot'))(parts), expected)
  await keyring.rotate('northlight-depot')
  assert.equal((await keyring.digest('northlight-depot'))(parts), expected)
})

test('the identity claim names host, key and time and verifies under that key [F-10]', async () => {
  const keyring = await ring(await keysFolder())
  const { keyId, publicKey } = await keyring.create('depot')
  const { identity, keys } = await keyring.signing('depot')
  const { signature, ...claim } = identity
  const times = { valid_from: keys.createdAt, valid_until: null }
  assert.deepEqual(claim, { host_id: 'depot', public_key: publicKey, key_id: keyId, ...times })
  assert(verifySignature(publicKey, stable(claim), signature))
})

test('what does not exist or exists already is said so, and of many creators one wins [F-10]', async () => {
  const folder = await keysFolder()
  const keyring = await ring(folder)
  for (const call of [keyring.signer, keyring.publicKeys, keyring.rotate, keyring.digest]) {
    await assert.rejects(call('depot'), coded('key.not_found'))
  }
  const ends = await Promise.allSettled(Array.from({ length: 8 }, () => keyring.create('depot')))
  const winners = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  assert.deepEqual(winners, [await keyring.publicKeys('depot')])
  for (const end of ends) assert(end.status === 'fulfilled' || coded('key.exists')(end.reason))
  for (const odd of ['', 'a\nb', '\ud800', 'x'.repeat(257)])
    await assert.rejects(keyring.create(odd), coded('id.invalid'))
})

test('no two hosts share a file, on a file system that ignores case too [F-10]', () => {
  const hosts = ['a', 'A', '%41', 'a.b', 'a/b', '../a', 'ä', 'a\u0308', '.ambit-lock', 'secrets', 'x'.repeat(256)]
  const long = ['é'.repeat(250), 'É'.repeat(250)]
  const names = [...hosts, ...long].map((host) => keyFileName(host).toLowerCase())
  assert.equal(new Set(names).size, names.length)
  for (const name of names) assert.match(name, /^[a-z0-9_%-]{1,128}\.key\.json$/)
})

test('a key file that others can read is refused with the remedy [F-10]', async () => {
  const folder = await keysFolder()
  const keyring = await ring(folder)
  await keyring.create('depot')
  for (const mode of [0o640, 0o604, 0o620, 0o601]) {
    await chmod(join(folder, 'depot.key.json'), mode)
    await assert.rejects(keyring.signer('depot'), (error) => {
      assert(error instanceof Failure && error.code === 'key.permissions')
      assert.match(error.message, /chmod 600/)
      return true
    })
  }
})

describe('a passphrase locks a key file [F-10]', () => {
  test('only it opens the file, which holds no key in plain text', async () => {
    const folder = await keysFolder()
    const random = scripted(bytes32(1), bytes32(0x11))
    const created = await (await ring(folder, { passphrase: 'née', random })).create('depot')
    const again = await ring(folder, { passphrase: 'ne\u0301e' })
    assert.deepEqual(await again.publicKeys('depot'), created)
    assert(verifySignature(created.publicKey, 'x', (await again.signer('depot')).sign('x')))
    const text = await readFile(join(folder, 'depot.key.json'), 'utf8')
    assert.deepEqual(
      [1, 0x11].flatMap((byte) => spellings(bytes32(byte))).filter((secret) => text.includes(secret)),
      [],
    )
    await assert.rejects((await ring(folder, { passphrase: 'nee' })).signer('depot'), coded('key.locked'))
    await assert.rejects((await ring(folder)).signer('depot'), coded('key.locked'))
  })

  test('a file in plain text is refused where a passphrase is set, and so is an empty passphrase', async () => {
    const folder = await keysFolder()
    await (await ring(folder)).create('depot')
    await assert.rejects((await ring(folder, { passphrase: 'open' })).signer('depot'), coded('key.invalid'))
    await assert.rejects(ring(folder, { passphrase: '' }), coded('key.invalid'))
  })

  test('it stays locked through a rotation, under new ciphertexts', async () => {
    const folder = await keysFolder()
    const keyring = await ring(folder, { passphrase: 'open' })
    await keyring.create('depot')
    const before = JSON.parse(await readFile(join(folder, 'depot.key.json'), 'utf8'))
    await keyring.rotate('depot')
    const after = JSON.parse(await readFile(join(folder, 'depot.key.json'), 'utf8'))
    assert.deepEqual(after.kdf, before.kdf)
    assert.notEqual(after.digest_key, before.digest_key)
    await assert.rejects((await ring(folder)).signer('depot'), coded('key.locked'))
    await (await ring(folder, { passphrase: 'open' })).signer('depot')
  })
})

describe.each([{}, { passphrase: 'open' }])('a changed key file is caught: %o [F-10]', (options) => {
  test('whichever byte was changed', async () => {
    const folder = await keysFolder()
    const keyring = await ring(folder, options)
    await keyring.create('depot')
    const { old_key_id } = await keyring.rotate('depot')
    await keyring.revoke('depot', old_key_id)
    const path = join(folder, 'depot.key.json')
    const good = await readFile(path)
    const harmless: number[] = []
    for (const at of good.keys()) {
      if (insideSalt(good, at)) continue
      const bad = Buffer.from(good)
      bad[at] = (bad[at] ?? 0) ^ (1 << (at % 7))
      await writeFile(path, bad)
      await keyring.publicKeys('depot').then(
        () => harmless.push(at),
        (error) => assert(coded('key.invalid', 'key.locked')(error), `byte ${at}: ${error}`),
      )
    }
    assert.deepEqual(harmless, [])
    await writeFile(path, good)
    await keyring.publicKeys('depot')
  })

  test('also when it is the file of another host, or its secrets stand in the wrong places', async () => {
    const folder = await keysFolder()
    const keyring = await ring(folder, options)
    for (const host of ['a', 'b']) await keyring.create(host)
    const [a, b] = [join(folder, 'a.key.json'), join(folder, 'b.key.json')]
    const [one, two] = [JSON.parse(await readFile(a, 'utf8')), JSON.parse(await readFile(b, 'utf8'))]
    const swaps = [
      two,
      { ...two, host_id: 'a' },
      { ...one, digest_key: two.digest_key },
      { ...one, digest_key: one.current.private, current: { ...one.current, private: one.digest_key } },
      { ...one, current: two.current },
      { ...one, extra: 1 },
    ]
    for (const swap of swaps) {
      await writeFile(a, JSON.stringify(swap))
      await assert.rejects(keyring.signer('a'), coded('key.invalid'))
    }
  })
})

/** Each other salt takes a derivation of a fifth of a second: its first character stands for all. */
function insideSalt(file: Buffer, at: number): boolean {
  const start = file.indexOf('"salt": "') + '"salt": "'.length
  return file.includes('"salt"') && at > start && at < start + 24
}

describe('rotation [F-10] [H-87]', () => {
  test('a chain of five leads from the first key to the current one, each step signed by the key it leaves', async () => {
    const keyring = await ring(await keysFolder())
    let pin = (await keyring.create('depot')).publicKey
    const statements = []
    for (let step = 0; step < 5; step++) statements.push(await keyring.rotate('depot'))
    const keys = await keyring.publicKeys('depot')
    assert.deepEqual(keys.history, statements)
    for (const { signature, ...claim } of statements) {
      assert.equal(claim.old_public_key, pin)
      assert(verifySignature(pin, stable(claim), signature))
      assert.deepEqual(
        [keyIdOf(claim.old_public_key), keyIdOf(claim.new_public_key)],
        [claim.old_key_id, claim.new_key_id],
      )
      pin = claim.new_public_key
    }
    assert.deepEqual([keys.publicKey, keys.keyId], [pin, keyIdOf(pin)])
    const document = { assurance: 'signed', key_id: keys.keyId, public_key: keys.publicKey, key_history: keys.history }
    assert(identityDocument.safeParse(document).success)
  })

  test('the old private half is gone, and a random source that repeats itself is refused', async () => {
    const folder = await keysFolder()
    const keyring = await ring(folder, { random: scripted(bytes32(1), bytes32(2), bytes32(3), bytes32(3), bytes32(1)) })
    await keyring.create('depot')
    await keyring.rotate('depot')
    const text = await readFile(join(folder, 'depot.key.json'), 'utf8')
    assert.deepEqual(
      [text.includes(bytes32(1).toString('base64')), text.includes(bytes32(3).toString('base64'))],
      [false, true],
    )
    await assert.rejects(keyring.rotate('depot'), coded('key.exists'))
    await assert.rejects(keyring.rotate('depot'), coded('key.exists'))
    assert.equal(await readFile(join(folder, 'depot.key.json'), 'utf8'), text)
  })

  test('a former key can be revoked, once; the current one cannot', async () => {
    const keyring = await ring(await keysFolder())
    const first = await keyring.create('depot')
    await assert.rejects(keyring.revoke('depot', first.keyId), coded('key.not_found'))
    await keyring.rotate('depot')
    for (let time = 0; time < 2; time++)
      assert.deepEqual((await keyring.revoke('depot', first.keyId)).revoked, [first.keyId])
    assert.deepEqual((await keyring.publicKeys('depot')).revoked, [first.keyId])
    await assert.rejects(keyring.revoke('depot', '0000000000000000'), coded('key.not_found'))
  })

  test('a write killed before its rename leaves the old key in force', async () => {
    const folder = await keysFolder()
    const keyring = await ring(folder)
    const before = await keyring.create('depot')
    await writeFile(join(folder, '.ambit-0-depot.key.json'), '{"v": "ambit-key-v1", "host')
    assert.deepEqual(await keyring.publicKeys('depot'), before)
    const statement = await keyring.rotate('depot')
    assert.equal(statement.old_key_id, before.keyId)
    assert.equal((await keyring.signer('depot')).keyId, statement.new_key_id)
  })

  test('rotations from several processes follow each other: none is lost', async () => {
    const folder = await keysFolder()
    const keyring = await ring(folder)
    const first = await keyring.create('depot')
    const source = (name: string): string => JSON.stringify(join(import.meta.dirname, name))
    const script = `
      import { randomBytes } from 'node:crypto'
      import { openRoot } from ${source('../files/root.ts')}
      import { openKeyring } from ${source('keyring.ts')}
      const files = await openRoot(${JSON.stringify(folder)})
      const keyring = openKeyring({ files, clock: Date, random: randomBytes })
      for (let n = 0; n < 5; n++) await keyring.rotate('depot')`
    const run = () => spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
    const codes = await Promise.all([run(), run()].map(async (child) => (await once(child, 'exit'))[0]))
    const { history } = await keyring.publicKeys('depot')
    assert.deepEqual([codes, history.length, history[0]?.old_key_id], [[0, 0], 10, first.keyId])
    assert.deepEqual((await readdir(folder)).sort(), ['.ambit-lock', 'depot.key.json'])
  })
})

test('nothing a keyring hands out or says shows a private key or digest key [F-10]', async () => {
  const secrets = [bytes32(1), bytes32(0x11), bytes32(3), Buffer.from('open sesame')]
  const [salt, iv] = [Buffer.alloc(16, 4), Buffer.alloc(12, 5)]
  const random = scripted(bytes32(1), bytes32(0x11), salt, iv, Buffer.alloc(12, 6), bytes32(3))
  const folder = await keysFolder()
  const keyring = await ring(folder, { passphrase: 'open sesame', random })
  const wrong = await ring(folder, { passphrase: 'other' })
  const said: unknown[] = [keyring, await keyring.create('depot')]
  said.push(await keyring.signer('depot'), await keyring.publicKeys('depot'), await keyring.digest('depot'))
  said.push(await keyring.signing('depot'), await keyring.rotate('depot'))
  assert.equal((await keyring.signer('depot')).keyId, signerOf(bytes32(3)).keyId)
  for (const call of [() => wrong.signer('depot'), () => keyring.create('depot'), () => keyring.signer('none')]) {
    said.push(await call().catch((error: unknown) => error))
  }
  await chmod(join(folder, 'depot.key.json'), 0o644)
  said.push(await keyring.signer('depot').catch((error: unknown) => error))
  await writeFile(join(folder, 'depot.key.json'), '{}')
  await chmod(join(folder, 'depot.key.json'), 0o600)
  said.push(await keyring.signer('depot').catch((error: unknown) => error))
  assert.deepEqual(leaks(said, secrets), [])
  assert.deepEqual(leaks([{ inner: bytes32(1) }], secrets).length > 0, true, 'the search finds a secret that is there')
})

function leaks(said: readonly unknown[], secrets: readonly Buffer[]): string[] {
  const text = said.flatMap((each) => [
    String(each),
    JSON.stringify(each),
    inspect(each, { depth: null, showHidden: true, customInspect: false, maxArrayLength: null }),
    inspect(each, { depth: null }),
  ])
  return secrets.flatMap(spellings).filter((secret) => text.join('\n').includes(secret))
}

const spellings = (secret: Buffer): string[] => [
  secret.toString('latin1'),
  secret.toString('hex'),
  secret.toString('hex').replace(/(..)(?!$)/g, '$1 '),
  secret.toString('base64'),
  secret.toString('base64url'),
  [...secret].join(','),
]
