import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { filesIn, givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { Failure } from '../../base/failure.ts'
import { configNames, loadSettings } from './config.ts'

/** A folder with one file, read as a configuration. */
function given(name: string, text: string): string {
  const folder = tempFolder()
  writeFileSync(join(folder, name), text)
  return folder
}

const load = (folder: string, env: Readonly<Record<string, string>> = {}, file?: string) =>
  loadSettings({ folder, env, ...(file !== undefined && { file }) })

const json = (value: unknown): string => given('ambit.config.json', JSON.stringify(value))

describe('settings are those of the file, or the defaults [F-20]', () => {
  test('without a file', async () => {
    const folder = tempFolder()
    assert.deepEqual(await load(folder), {
      file: undefined,
      dataDir: join(folder, '.ambit'),
      keysDir: join(folder, '.ambit', 'keys'),
      store: { driver: 'sqlite', path: join(folder, '.ambit', 'ambit.db'), durability: 'full' },
      tenant: 'local',
      passphrase: undefined,
      checkpoint: { everyEvents: 1_000, everyMs: 60_000 },
      retention: undefined,
      knowledge: { roots: undefined, enable: undefined, disable: [], approve: [], types: [], ignored: undefined },
      hosting: {
        port: 4770,
        hostname: '127.0.0.1',
        limits: {},
        spec: { capabilities: [] },
        policies: [],
        upstreams: [],
        egress: {},
        agents: [],
        providers: [],
        models: {},
        prices: {},
        planners: {},
        protect: [],
        ceilings: {},
        folder,
      },
      files: [],
    })
    assert.deepEqual([...filesIn(folder)], [])
  })

  test.each(configNames)('from %s', async (name) => {
    const folder = given(name, name.endsWith('.json') ? '{"tenant":"acme"}' : "export default { tenant: 'acme' }\n")
    const settings = await load(folder)
    assert.deepEqual([settings.tenant, settings.file], ['acme', join(folder, name)])
  })

  test('TypeScript with types in it', async () => {
    const text = "interface Id { readonly tenant: string }\nconst id: Id = { tenant: 'acme' }\nexport default id\n"
    assert.equal((await load(given('ambit.config.ts', text))).tenant, 'acme')
  })

  test('two in one folder are refused by their names, unless one is named', async () => {
    const folder = json({ tenant: 'from-json' })
    writeFileSync(join(folder, 'ambit.config.ts'), "export default { tenant: 'from-ts' }")
    writeFileSync(join(folder, 'mine.json'), '{"tenant":"mine"}')
    await assert.rejects(load(folder), {
      code: 'config.invalid',
      message: 'there are two configurations here, `ambit.config.ts` and `ambit.config.json`',
    })
    assert.equal((await load(folder, {}, 'ambit.config.json')).tenant, 'from-json')
    assert.equal((await load(folder, {}, 'mine.json')).tenant, 'mine')
    assert.equal((await load(folder, {}, join(folder, 'mine.json'))).tenant, 'mine')
  })

  test('limits of the server are settings, within bounds', async () => {
    const limits = { bodyBytesMax: 4_096, bodyMs: 500, headersMs: 500, connectionsMax: 20, requestsAtOnceMax: 10 }
    const { hosting } = await load(json({ host: { limits: { ...limits, requestsPerSecondMax: 5 } } }))
    assert.deepEqual(hosting.limits, { ...limits, requestsPerSecondMax: 5 })
    assert.deepEqual(hosting.spec, { capabilities: [] })
    for (const bad of [{ bodyBytesMax: 1_048_577 }, { bodyMs: 0 }, { connectionsMax: 1.5 }, { requestsAtOnceMax: -1 }])
      await assert.rejects(load(json({ host: { limits: bad } })), { code: 'field.invalid' })
    await assert.rejects(load(json({ host: { limits: { bodyBytes: 1 } } })), { code: 'field.unknown' })
  })

  test('paths are relative to the file, wherever one stands', async () => {
    const folder = tempFolder()
    mkdirSync(join(folder, 'etc'))
    const paths = { dataDir: '../data', keys: { dir: 'keys' }, store: { driver: 'sqlite', path: './s.db' } }
    writeFileSync(join(folder, 'etc', 'c.json'), JSON.stringify(paths))
    const settings = await load(folder, {}, 'etc/c.json')
    assert.equal(settings.dataDir, join(folder, 'data'))
    assert.equal(settings.keysDir, join(folder, 'etc', 'keys'))
    assert.deepEqual(settings.store, { driver: 'sqlite', path: join(folder, 'etc', 's.db'), durability: 'full' })
    const memory = await load(json({ dataDir: '/data', store: { driver: 'sqlite', path: ':memory:' } }))
    assert.deepEqual([memory.dataDir, memory.keysDir], ['/data', '/data/keys'])
    assert(memory.store.driver === 'sqlite' && memory.store.path === ':memory:')
  })

  test('the address of a database from the file, or from a variable', async () => {
    const url = 'postgres://localhost/ambit'
    const store = { driver: 'postgres' } as const
    assert.deepEqual((await load(json({ store: { ...store, url } }))).store, { driver: 'postgres', url })
    assert.deepEqual((await load(json({ store }), { AMBIT_DATABASE_URL: url })).store, { driver: 'postgres', url })
    const named = json({ store: { ...store, urlEnv: 'MY_DATABASE' } })
    assert.deepEqual((await load(named, { MY_DATABASE: url })).store, { driver: 'postgres', url })
    for (const env of [{}, { MY_DATABASE: '' }, { AMBIT_DATABASE_URL: url }] as Record<string, string>[])
      await assert.rejects(load(named, env), {
        code: 'config.invalid',
        message: 'store: neither `url` nor the variable `MY_DATABASE` is set',
        help: 'set MY_DATABASE to a postgres:// address',
      })
  })

  test('a passphrase from its variable; one that the file names must be there', async () => {
    assert.equal((await load(tempFolder(), { AMBIT_PASSPHRASE: 'x' })).passphrase, 'x')
    assert.equal((await load(tempFolder(), { AMBIT_PASSPHRASE: '' })).passphrase, undefined)
    const named = json({ keys: { passphraseEnv: 'MY_PASSPHRASE' } })
    assert.equal((await load(named, { MY_PASSPHRASE: 'y' })).passphrase, 'y')
    for (const env of [{}, { MY_PASSPHRASE: '' }, { AMBIT_PASSPHRASE: 'x' }] as Record<string, string>[])
      await assert.rejects(load(named, env), { code: 'config.invalid', message: /`MY_PASSPHRASE` is not set/ })
  })
})

describe('a configuration that is wrong is refused with its place [F-20]', () => {
  test.each<[unknown, string, string]>([
    [{ tenat: 'acme' }, 'field.unknown', '/tenat'],
    [{ store: { driver: 'sqlite', durabilty: 'full' } }, 'field.unknown', '/store/durabilty'],
    [{ store: { driver: 'sqlite', url: 'x' } }, 'field.unknown', '/store/url'],
    [{ store: { driver: 'postgres', path: 'x' } }, 'field.unknown', '/store/path'],
    [{ keys: { folder: 'x' } }, 'field.unknown', '/keys/folder'],
    [{ checkpoint: { every: 1 } }, 'field.unknown', '/checkpoint/every'],
    [{ store: { driver: 'mysql' } }, 'field.invalid', '/store/driver'],
    [{ store: {} }, 'field.missing', '/store/driver'],
    [{ store: 'sqlite' }, 'field.invalid', '/store'],
    [{ tenant: 'Acme' }, 'field.invalid', '/tenant'],
    [{ dataDir: 7 }, 'field.invalid', '/dataDir'],
    [{ dataDir: '' }, 'field.invalid', '/dataDir'],
    [{ checkpoint: { everyEvents: 0 } }, 'field.invalid', '/checkpoint/everyEvents'],
    [{ checkpoint: { everyMs: 1.5 } }, 'field.invalid', '/checkpoint/everyMs'],
    [{ checkpoint: { everyMs: '60s' } }, 'field.invalid', '/checkpoint/everyMs'],
    [[], 'field.invalid', ''],
    [null, 'field.invalid', ''],
  ])('%j', async (value, code, pointer) => {
    await assert.rejects(load(json(value)), { code, data: { pointer } })
  })

  test.each<[string, string, RegExp, RegExp?]>([
    ['ambit.config.json', '{"tenant":"a","tenant":"b"}', /does not load: .* twice at line 1/],
    ['ambit.config.json', '{"tenant":', /does not load: .* at line 1/],
    ['ambit.config.json', '', /does not load: /],
    ['ambit.config.ts', 'export default {', /does not load: /],
    [
      'ambit.config.mjs',
      "throw new Error('no wine today\\nand more')",
      /^`ambit\.config\.mjs` does not load: no wine today \(line 1\)$/,
    ],
    ['ambit.config.mjs', 'throw undefined', /does not load: it threw$/],
    ['ambit.config.mjs', "import '../../not-there.mjs'", /does not load: /],
    ['ambit.config.mjs', "import 'no-such-package'", /does not load: /],
    ['ambit.config.mjs', 'export const config = {}', /exports nothing/, /export default/],
    [
      'ambit.config.json',
      '{"tennant":"a"}',
      /^`ambit\.config\.json`: `\/tennant` is not a known/,
      /^did you mean `tenant`\?$/,
    ],
    ['ambit.config.json', '{"capabilites":[]}', /`\/capabilites` is not a known/, /^did you mean `capabilities`\?$/],
    ['ambit.config.json', '{"host":{"reslovers":{}}}', /`\/host\/reslovers` is not/, /^did you mean `resolvers`\?$/],
    [
      'ambit.config.json',
      '{"egress":{"allow":["a.example","https://a.example/b"]}}',
      /^`ambit\.config\.json`: `\/egress\/allow\/1`: `https:\/\/a\.example\/b` is no origin, no host/,
      /^write it like `https:/,
    ],
    [
      'ambit.config.mjs',
      'export default { capabilities: 1 }',
      /^`ambit\.config\.mjs`: `\/capabilities` must be an array$/,
    ],
    ['ambit.config.json', '{"colour":1}', /`\/colour` is not a known member/, /^$/],
    ['ambit.config.mjs', 'export default undefined', /exports nothing/],
    ['ambit.config.mjs', "export default 'acme'", /^`ambit\.config\.mjs` must be an object$/],
  ])('%s with %s', async (name, text, message, help) => {
    const folder = given(name, text)
    const error = await load(folder).then(
      () => assert.fail('it was read'),
      (caught: unknown) => caught,
    )
    assert(error instanceof Failure)
    assert.match(error.message, message)
    assert.match(error.help ?? '', help ?? /^/)
    assert(!`${error.message}${error.help}`.includes(folder.slice(0, folder.lastIndexOf('/'))), error.message)
  })

  test('one that is not there, or is no file', async () => {
    const folder = tempFolder()
    await assert.rejects(load(folder, {}, 'mine.ts'), { code: 'config.not_found', help: /`ambit init`/ })
    mkdirSync(join(folder, 'ambit.config.json'))
    await assert.rejects(load(folder), { code: 'config.invalid', message: /EISDIR/ })
    symlinkSync(join(folder, 'nowhere'), join(folder, 'ambit.config.ts'))
    await assert.rejects(load(folder), { code: 'config.invalid', message: /EISDIR/ })
  })
})

describe('keys are as private as the configuration says [F-10 F-20]', () => {
  test('with a passphrase they are encrypted, and open with no other and not without', async () => {
    const folder = tempFolder()
    const env = { AMBIT_PASSPHRASE: 'correct horse' }
    const ambit = await givenAmbit({ folder, env })
    const { tenant } = await givenTenant(ambit)
    await ambit.secrets.set(tenant, 'mail', 'battery staple')
    await ambit.close()
    for (const [path, bytes] of filesIn(folder)) {
      assert(!bytes.includes('correct horse') && !bytes.includes('battery staple'), path)
      assert(!path.endsWith('secrets.master'))
    }
    const { kdf } = JSON.parse(readFileSync(join(folder, '.ambit/keys/acme.key.json'), 'utf8'))
    assert.equal(typeof kdf.salt, 'string')
    await assert.rejects(givenAmbit({ folder, env: { AMBIT_PASSPHRASE: 'wrong' } }), { code: 'key.locked' })
    await assert.rejects(givenAmbit({ folder }), { code: 'key.locked' })
    const again = await givenAmbit({ folder, env })
    assert.equal((await again.secrets.list(tenant)).length, 1)
  })

  test('folders and files that others can read are refused, and the refusal names which, not where', async () => {
    const folder = tempFolder()
    const ambit = await givenAmbit({ folder })
    await givenTenant(ambit)
    await ambit.close()
    const refused = async (path: string, mode: number, code: string, message: RegExp) => {
      chmodSync(join(folder, '.ambit', path), mode | 0o044)
      await assert.rejects(givenAmbit({ folder }), { code, message })
      chmodSync(join(folder, '.ambit', path), mode)
      await (await givenAmbit({ folder })).close()
    }
    await refused('keys', 0o700, 'file.permissions', /^the folder of keys is open to others than its owner$/)
    await refused('heads', 0o700, 'file.permissions', /^the folder of heads is open to others than its owner$/)
    await refused('keys/acme.key.json', 0o600, 'key.permissions', /^`acme\.key\.json` is open to others/)
  })

  test('what stands where a folder should be is said, without its path', async () => {
    const folder = json({ dataDir: 'ambit.config.json' })
    await assert.rejects(givenAmbit({ folder }), { message: 'the folder of keys cannot be made or used' })
    const apart = json({ dataDir: 'ambit.config.json', keys: { dir: 'keys' } })
    await assert.rejects(givenAmbit({ folder: apart }), { message: /^the data folder cannot be made: E\w+$/ })
  })
})
