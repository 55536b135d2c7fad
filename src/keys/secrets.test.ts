import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { format, inspect } from 'node:util'
import { afterEach, describe, test } from 'vitest'
import { Failure } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { openRoot } from '../files/root.ts'
import { tenantId } from '../model/identity/tenant-id.ts'
import { fileKeys } from './passphrase.ts'
import { fileBytes } from './sealed-file.ts'
import { openSecrets, type Secrets } from './secrets.ts'

const made: string[] = []

afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true })
})

async function secretsFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ambit-secrets-'))
  made.push(folder)
  return folder
}

const clock = { now: () => Date.UTC(2026, 5, 16, 15) }
let count = 0
const random = (bytes: number): Buffer =>
  Buffer.from(sha256(`a${count}`) + sha256(`b${count++}`), 'hex').subarray(0, bytes)

async function store(folder: string, passphrase?: string): Promise<Secrets> {
  const files = await openRoot(folder, { create: true, mode: 0o700 })
  return openSecrets({ files, clock, random, ...(passphrase !== undefined && { passphrase }) })
}

const acme = tenantId('acme')
const other = tenantId('other')

const coded =
  (...codes: string[]) =>
  (error: unknown): boolean =>
    error instanceof Failure && codes.includes(error.code)

describe.each([undefined, 'open'])('secrets are kept as handles, passphrase: %s [F-11]', (passphrase) => {
  test('what was set is listed by name, resolved by handle, replaced and removed', async () => {
    const folder = await secretsFolder()
    const secrets = await store(folder, passphrase)
    assert.deepEqual(await secrets.list(acme), [])
    await assert.rejects(secrets.remove(acme, 'MAIL_KEY'), coded('secret.not_found'))
    assert.deepEqual(await readdir(folder), [])
    await secrets.set(acme, 'MAIL_KEY', 'first')
    await secrets.set(acme, 'API.key-1', 'zwölf €')
    await secrets.set(acme, 'MAIL_KEY', 'second')
    const again = await store(folder, passphrase)
    const createdAt = '2026-06-16T15:00:00.000Z'
    assert.deepEqual(await again.list(acme), [
      { name: 'API.key-1', createdAt },
      { name: 'MAIL_KEY', createdAt },
    ])
    assert.equal((await again.resolve(acme, 'secret:MAIL_KEY')).reveal(), 'second')
    assert.equal((await again.resolve(acme, 'secret:API.key-1')).reveal(), 'zwölf €')
    await again.remove(acme, 'MAIL_KEY')
    await assert.rejects(secrets.resolve(acme, 'secret:MAIL_KEY'), coded('secret.not_found'))
    await assert.rejects(secrets.remove(acme, 'MAIL_KEY'), coded('secret.not_found'))
  })

  test('a tenant sees its own secrets only', async () => {
    const secrets = await store(await secretsFolder(), passphrase)
    await secrets.set(acme, 'KEY', 'of acme')
    await secrets.set(other, 'KEY', 'of other')
    assert.equal((await secrets.resolve(acme, 'secret:KEY')).reveal(), 'of acme')
    await secrets.remove(acme, 'KEY')
    assert.deepEqual([await secrets.list(acme), (await secrets.list(other)).length], [[], 1])
    await assert.rejects(secrets.resolve(acme, 'secret:KEY'), coded('secret.not_found'))
    await assert.rejects(secrets.resolve(acme, 'secret:KEY'), { help: 'keep it with `ambit secret set KEY`' })
    assert.equal((await secrets.resolve(other, 'secret:KEY')).reveal(), 'of other')
  })

  test('the files are the owner’s alone and hold no value; open to others they are refused', async () => {
    const folder = await secretsFolder()
    const secrets = await store(folder, passphrase)
    await secrets.set(acme, 'KEY', 'correct horse battery')
    const expected = passphrase === undefined ? ['secrets.json', 'secrets.master'] : ['secrets.json']
    assert.deepEqual((await readdir(folder)).filter((name) => !name.startsWith('.')).sort(), expected)
    for (const name of expected) {
      const path = join(folder, name)
      assert.equal((await stat(path)).mode & 0o777, 0o600)
      const text = await readFile(path, 'utf8')
      assert(!text.includes('correct') && !text.includes(Buffer.from('correct horse battery').toString('base64')))
      await chmod(path, 0o640)
      await assert.rejects(secrets.resolve(acme, 'secret:KEY'), coded('key.permissions'))
      await chmod(path, 0o600)
    }
  })

  test('whichever byte of the file is changed, it is caught', async () => {
    const folder = await secretsFolder()
    const secrets = await store(folder, passphrase)
    await secrets.set(acme, 'KEY', 'value')
    await secrets.set(other, 'KEY', 'value')
    const path = join(folder, 'secrets.json')
    const good = await readFile(path)
    const salt = good.indexOf('"salt": "') + '"salt": "'.length
    const harmless: number[] = []
    for (const at of good.keys()) {
      // Each other salt takes a derivation of a fifth of a second: its first character stands for all.
      if (passphrase !== undefined && at > salt && at < salt + 24) continue
      const bad = Buffer.from(good)
      bad[at] = (bad[at] ?? 0) ^ (1 << (at % 7))
      await writeFile(path, bad)
      await secrets.list(acme).then(
        () => harmless.push(at),
        (error) => assert(coded('secret.invalid', 'key.locked')(error), `byte ${at}: ${error}`),
      )
    }
    assert.deepEqual(harmless, [])
    await writeFile(path, good)
    assert.equal((await secrets.resolve(acme, 'secret:KEY')).reveal(), 'value')
  })

  test('a write killed before its rename loses nothing', async () => {
    const folder = await secretsFolder()
    const secrets = await store(folder, passphrase)
    await secrets.set(acme, 'ONE', '1')
    await writeFile(join(folder, '.ambit-0-secrets.json'), '{"v": "ambit-sec')
    assert.equal((await secrets.resolve(acme, 'secret:ONE')).reveal(), '1')
    await secrets.set(acme, 'TWO', '2')
    assert.deepEqual(
      (await secrets.list(acme)).map(({ name }) => name),
      ['ONE', 'TWO'],
    )
  })

  test('secrets set at the same time are all kept', async () => {
    const secrets = await store(await secretsFolder(), passphrase)
    const names = Array.from({ length: 12 }, (_, n) => `KEY_${String(n).padStart(2, '0')}`)
    await Promise.all(names.map((name) => secrets.set(acme, name, `value of ${name}`)))
    assert.deepEqual(
      (await secrets.list(acme)).map(({ name }) => name),
      names,
    )
  })
})

test('secrets set from several processes are all kept [F-11]', async () => {
  const folder = await secretsFolder()
  const source = (name: string): string => JSON.stringify(join(import.meta.dirname, name))
  const script = (prefix: string): string => `
    import { randomBytes } from 'node:crypto'
    import { openRoot } from ${source('../files/root.ts')}
    import { openSecrets } from ${source('secrets.ts')}
    const files = await openRoot(${JSON.stringify(folder)})
    const secrets = openSecrets({ files, clock: Date, random: randomBytes })
    for (let n = 0; n < 8; n++) await secrets.set('acme', '${prefix}' + n, 'value ' + n)`
  const run = (prefix: string) =>
    spawn(process.execPath, ['--input-type=module', '-e', script(prefix)], { stdio: 'inherit' })
  const codes = await Promise.all([run('A'), run('B')].map(async (child) => (await once(child, 'exit'))[0]))
  const secrets = await store(folder)
  const values = await Promise.all(
    (await secrets.list(acme)).map(async ({ name }) => (await secrets.resolve(acme, `secret:${name}`)).reveal()),
  )
  const eight = Array.from({ length: 8 }, (_, n) => `value ${n}`)
  assert.deepEqual(
    [codes, values],
    [
      [0, 0],
      [...eight, ...eight],
    ],
  )
})

test('only its passphrase, or its master key, opens the store [F-11]', async () => {
  const folder = await secretsFolder()
  await (await store(folder, 'open')).set(acme, 'KEY', 'value')
  await assert.rejects((await store(folder, 'shut')).list(acme), coded('key.locked'))
  await assert.rejects((await store(folder)).list(acme), coded('key.locked'))
  await assert.rejects((await store(folder, 'shut')).set(acme, 'KEY', 'other'), coded('key.locked'))
  await assert.rejects(store(folder, ''), coded('key.invalid'))

  const plain = await secretsFolder()
  const secrets = await store(plain)
  await secrets.set(acme, 'KEY', 'value')
  await assert.rejects((await store(plain, 'open')).list(acme), coded('key.invalid'))
  const master = join(plain, 'secrets.master')
  const good = await readFile(master, 'utf8')
  await writeFile(master, good.slice(4))
  await assert.rejects(secrets.list(acme), coded('key.invalid'))
  await writeFile(master, `AAAA${good.slice(4)}`)
  await assert.rejects(secrets.resolve(acme, 'secret:KEY'), coded('secret.invalid'))
  await unlink(master)
  for (const call of [() => secrets.list(acme), () => secrets.set(acme, 'KEY', 'other')]) {
    await assert.rejects(call(), coded('key.not_found'))
  }
})

test('an encrypted value is worth nothing under another name or tenant [F-11]', async () => {
  const folder = await secretsFolder()
  const secrets = await store(folder)
  for (const [tenant, name] of [
    [acme, 'KEY'],
    [acme, 'TWO'],
    [other, 'KEY'],
  ] as const) {
    await secrets.set(tenant, name, `${name} of ${tenant}`)
  }
  const { integrity } = fileKeys(Buffer.from(await readFile(join(folder, 'secrets.master'), 'utf8'), 'base64'))
  const { mac: _, ...members } = JSON.parse(await readFile(join(folder, 'secrets.json'), 'utf8'))
  const values = members.entries.map((entry: { value: string }) => entry.value)
  const rotated = members.entries.map((entry: object, at: number) => ({ ...entry, value: values[(at + 1) % 3] }))
  await writeFile(join(folder, 'secrets.json'), fileBytes({ ...members, entries: rotated }, integrity))
  for (const [tenant, name] of [
    [acme, 'KEY'],
    [acme, 'TWO'],
    [other, 'KEY'],
  ] as const) {
    await assert.rejects(secrets.resolve(tenant, `secret:${name}`), coded('secret.invalid'))
  }
})

test('names, handles and values have bounds, and a refusal repeats none of them [F-11]', async () => {
  const secrets = await store(await secretsFolder())
  await secrets.set(acme, 'K'.repeat(64), 'x'.repeat(limits.secretBytesMax))
  const names = ['', '1KEY', '_KEY', 'K Y', 'K/Y', 'K'.repeat(65), 'KEY\n', 'hunter2!']
  const values = ['', 'x'.repeat(limits.secretBytesMax + 1), 'ü'.repeat(limits.secretBytesMax), '\ud800']
  const handles = ['', 'KEY', 'secret:', 'Secret:KEY', 'secret:hunter2!', 'vault:KEY', ' secret:KEY', 'secret:KEY ']
  const calls = [
    ...names.map((name) => () => secrets.set(acme, name, 'hunter2')),
    ...names.map((name) => () => secrets.remove(acme, name)),
    ...values.map((value) => () => secrets.set(acme, 'KEY', value)),
    ...handles.map((handle) => () => secrets.resolve(acme, handle)),
  ]
  for (const call of calls) {
    const error: unknown = await call().then(
      () => undefined,
      (failure: unknown) => failure,
    )
    assert(coded('secret.invalid')(error))
    assert(!inspect(error).includes('hunter2!'))
  }
  assert.equal((await secrets.list(acme)).length, 1)
})

test('a secret shows its handle however it is printed, and nothing else the store says shows it [F-11]', async () => {
  const folder = await secretsFolder()
  const secrets = await store(folder, 'open sesame')
  await secrets.set(acme, 'KEY', 'correct-horse')
  const secret = await secrets.resolve(acme, 'secret:KEY')
  const shown = [String(secret), `${secret}`, inspect(secret), format('%s', secret), format('%o', { secret }.secret)]
  assert.deepEqual(new Set(shown), new Set(['secret:KEY']))
  assert.equal(JSON.stringify({ secret, list: [secret] }), '{"secret":"secret:KEY","list":["secret:KEY"]}')
  assert.equal(secret.reveal(), 'correct-horse')
  const said: unknown[] = [secrets, secret, { ...secret }, await secrets.list(acme)]
  said.push(await secrets.resolve(acme, 'secret:NONE').catch((error: unknown) => error))
  said.push(await (await store(folder, 'shut')).list(acme).catch((error: unknown) => error))
  const text = said.map((each) => inspect(each, { depth: null, showHidden: true, customInspect: false })).join('\n')
  for (const hidden of ['correct-horse', 'open sesame', Buffer.from('correct-horse').toString('base64')]) {
    assert(!text.includes(hidden) && !JSON.stringify(said).includes(hidden))
  }
})
