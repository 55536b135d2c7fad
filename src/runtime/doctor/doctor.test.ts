import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, test } from 'vitest'
import { filesIn, givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { openSqlite } from '../../storage/drivers/sqlite.ts'
import { migrate } from '../../storage/schema.ts'
import { rows } from '../../storage/work.ts'
import { record } from '../evidence/record.ts'
import { type DoctorOptions, examine } from './doctor.ts'
import type { Finding } from './finding.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

async function findings(folder: string, options: DoctorOptions = {}, env = {}): Promise<readonly Finding[]> {
  const found = []
  for await (const finding of examine({ folder, env }, options)) found.push(finding)
  return found
}

/** `check verdict` of each finding. */
const shortly = (found: readonly Finding[]): readonly string[] =>
  found.map(({ check, verdict }) => `${check} ${verdict}`)

async function givenFolder(config = {}, env = {}): Promise<string> {
  const folder = tempFolder()
  const ambit = await givenAmbit({ folder, config: { tenant: 'acme', ...config }, env })
  const me = await givenTenant(ambit)
  await ambit.secrets.set(me.tenant, 'mail', 'value')
  await record(ambit, me, [{ event_type: 'noted', payload: {}, correlation: { correlation_id: 'c' } }])
  await ambit.close()
  return folder
}

const healthy = [
  'node ok',
  'configuration ok',
  'folder ok',
  'disk ok',
  'store ok',
  'durability ok',
  'tenants ok',
  'keys ok',
]

describe('doctor looks and touches nothing [F-20]', () => {
  test('an installation that is well', async () => {
    const folder = await givenFolder()
    const before = filesIn(folder)
    assert.deepEqual(shortly(await findings(folder)), [...healthy, 'passphrase warn'])
    const told: [string, number][] = []
    const deep = await findings(folder, { deep: true, onProgress: (...step) => told.push(step) })
    assert.deepEqual(shortly(deep), [...healthy, 'passphrase warn', 'records ok'])
    assert.match(deep.at(-1)?.message ?? '', /^`acme`: /)
    assert.deepEqual(told.at(-1), ['acme', 3])
    assert.deepEqual(filesIn(folder), before)
  })

  test('with a passphrase', async () => {
    const env = { AMBIT_PASSPHRASE: 'correct horse' }
    assert.equal(shortly(await findings(await givenFolder({}, env), {}, env)).at(-1), 'passphrase ok')
  })

  test('a folder where nothing is yet stays so', async () => {
    const folder = tempFolder()
    const found = await findings(folder, { deep: true })
    assert.deepEqual(shortly(found), ['node ok', 'configuration ok', 'folder ok', 'store warn'])
    assert.match(found.at(-1)?.help ?? '', /`ambit tenant create local`/)
    assert.deepEqual([...filesIn(folder)], [])
  })

  test('a store without a tenant', async () => {
    const folder = tempFolder()
    await (await givenAmbit({ folder })).close()
    const [last] = (await findings(folder)).slice(-1)
    assert.deepEqual([last?.check, last?.verdict, last?.help], ['tenants', 'warn', 'run `ambit tenant create local`'])
  })

  test('a store of an earlier release is not brought up to date', async () => {
    const folder = await givenFolder()
    const path = join(folder, '.ambit', 'ambit.db')
    rmSync(path)
    const database = openSqlite({ path })
    await migrate(database)
    // While there is one release alone, what was before it has a number below all others.
    await database.write(() => rows('UPDATE ambit_schema SET version = -1'))
    await database.close()
    const before = readFileSync(path)
    const last = (await findings(folder)).at(-1)
    assert.deepEqual([last?.check, last?.verdict], ['store', 'warn'])
    assert.match(last?.message ?? '', /schema -1; the next command/)
    assert.deepEqual(readFileSync(path), before)
  })

  test.skipIf(server === undefined)('PostgreSQL, empty and in use', async () => {
    const url = (await server?.database()) ?? ''
    const config = { store: { driver: 'postgres', url } } as const
    const empty = tempFolder()
    writeFileSync(join(empty, 'ambit.config.json'), JSON.stringify(config))
    assert.deepEqual(shortly(await findings(empty)).at(-1), 'store warn')
    assert.deepEqual([...filesIn(empty).keys()], ['ambit.config.json'])
    const folder = await givenFolder(config)
    assert.deepEqual(shortly(await findings(folder, { deep: true })), [...healthy, 'passphrase warn', 'records ok'])
  })
})

describe('doctor names what is wrong, and the remedy [F-20]', () => {
  const trouble = async (folder: string, options?: DoctorOptions, env?: object) =>
    (await findings(folder, options, env)).filter(({ verdict }) => verdict !== 'ok').at(0)

  test('an old Node', async () => {
    const [first] = await findings(tempFolder(), { nodeVersion: '22.20.0' })
    assert.deepEqual(first, {
      check: 'node',
      verdict: 'fail',
      message: 'version 22.20.0 is too old',
      help: 'install Node 24 or newer',
    })
  })

  test('a configuration that is wrong ends the examination', async () => {
    const folder = tempFolder()
    writeFileSync(join(folder, 'ambit.config.json'), '{"tenat":"x"}')
    const found = await findings(folder)
    assert.deepEqual(shortly(found), ['node ok', 'configuration fail'])
    assert.match(found[1]?.message ?? '', /`\/tenat` is not a known member/)
    assert.equal(found[1]?.help, 'did you mean `tenant`?')
  })

  test.each<[string, (folder: string) => void, string, RegExp, RegExp]>([
    [
      'a data folder others can read',
      (folder) => chmodSync(join(folder, '.ambit'), 0o755),
      'folder',
      /others on this machine can read the data folder \(mode 755\)/,
      /chmod 700/,
    ],
    [
      'a data folder that is a file',
      (folder) => {
        renameSync(join(folder, '.ambit'), join(folder, 'gone'))
        writeFileSync(join(folder, '.ambit'), '')
      },
      'folder',
      /not a folder/,
      /dataDir/,
    ],
    [
      'a folder of keys others can read',
      (folder) => chmodSync(join(folder, '.ambit/keys'), 0o750),
      'store',
      /the folder of keys is open/,
      /chmod 700/,
    ],
    [
      'no folder of keys',
      (folder) => renameSync(join(folder, '.ambit/keys'), join(folder, 'keys')),
      'store',
      /the folder of keys is not there/,
      /keys\.dir/,
    ],
    [
      'no folder of heads',
      (folder) => rmSync(join(folder, '.ambit/heads'), { recursive: true }),
      'heads',
      /no signed heads lie here/,
      /put the folder of heads back/,
    ],
    [
      'a key others can read',
      (folder) => chmodSync(join(folder, '.ambit/keys/acme.key.json'), 0o644),
      'keys',
      /`acme\.key\.json` is open to others/,
      /by its owner only/,
    ],
    [
      'secrets others can read',
      (folder) => chmodSync(join(folder, '.ambit/keys/secrets.json'), 0o640),
      'keys',
      /`secrets\.json` is open to others/,
      /by its owner only/,
    ],
    [
      'a key that is gone',
      (folder) => rmSync(join(folder, '.ambit/keys/acme.key.json')),
      'keys',
      /host `acme` has no key/,
      /restore the folder of keys/,
    ],
    [
      'a key that was changed',
      (folder) => writeFileSync(join(folder, '.ambit/keys/acme.key.json'), '{}'),
      'keys',
      /damaged/,
      /restore it from a backup/,
    ],
    [
      'a database that is none',
      (folder) => writeFileSync(join(folder, '.ambit/ambit.db'), 'x'.repeat(4096)),
      'store',
      /cannot be used \(sqlite 26\)/,
      /not a store/,
    ],
    [
      'a store of a later release',
      (folder) => change(folder, 'UPDATE ambit_schema SET version = 99'),
      'store',
      /schema 99/,
      /newer release/,
    ],
    [
      'a store that was cut',
      (folder) => change(folder, 'DELETE FROM checkpoints'),
      'heads',
      /were cut or rewritten/,
      /accept-loss acme/,
    ],
  ])('%s', async (_, spoil, check, message, help) => {
    const folder = await givenFolder()
    spoil(folder)
    const before = filesIn(folder)
    const finding = await trouble(folder)
    assert.equal(finding?.check, check)
    assert.equal(finding?.verdict, 'fail')
    assert.match(finding?.message ?? '', message)
    assert.match(finding?.help ?? '', help)
    for (const finding of await findings(folder)) assert(!JSON.stringify(finding).includes(folder))
    assert.deepEqual([...filesIn(folder).keys()], [...before.keys()])
  })

  test('the wrong passphrase, and one that is missing', async () => {
    const folder = await givenFolder({}, { AMBIT_PASSPHRASE: 'correct horse' })
    for (const env of [{ AMBIT_PASSPHRASE: 'wrong' }, {}]) {
      const finding = await trouble(folder, {}, env)
      assert.deepEqual([finding?.check, finding?.verdict], ['keys', 'fail'])
      assert.match(finding?.help ?? '', /passphrase/)
    }
  })

  test('a passphrase that is set too late, and the note before that does not ask for it', async () => {
    const folder = await givenFolder()
    const [note] = (await findings(folder)).filter(({ check }) => check === 'passphrase')
    assert.match(note?.help ?? '', /^nothing to do/)
    const late = await trouble(folder, {}, { AMBIT_PASSPHRASE: 'correct horse' })
    assert.match(late?.message ?? '', /is not locked, but a passphrase is set$/)
    assert.match(late?.help ?? '', /^unset AMBIT_PASSPHRASE if /)
  })

  test('durability that may lose records, and a store that ends with the process', async () => {
    const normal = await trouble(await givenFolder({ store: { driver: 'sqlite', durability: 'normal' } }))
    assert.deepEqual(
      [normal?.check, normal?.verdict, normal?.help],
      ['durability', 'warn', "set `store.durability` to 'full'"],
    )
    const memory = await trouble(await givenFolder({ store: { driver: 'sqlite', path: ':memory:' } }))
    assert.deepEqual([memory?.check, memory?.help], ['durability', 'set `store.path` to a file'])
  })

  test('a record that was changed is found by looking deep, and by nothing less', async () => {
    const folder = await givenFolder()
    change(folder, `UPDATE events SET body = replace(body, '"operator"', '"mallory"') WHERE sequence = 3`)
    assert(!shortly(await findings(folder)).some((finding) => finding.endsWith('fail')))
    const finding = (await findings(folder, { deep: true })).at(-1)
    assert.deepEqual([finding?.check, finding?.verdict], ['records', 'fail'])
    assert.match(finding?.message ?? '', /event 3/)
    assert.match(finding?.help ?? '', /restore the newest backup/)
  })

  test('a database that does not answer, without its password', async () => {
    const folder = tempFolder()
    mkdirSync(join(folder, '.ambit'), { mode: 0o700 })
    const url = 'postgres://me:hunter2@127.0.0.1:1/ambit'
    writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify({ store: { driver: 'postgres', url } }))
    const finding = await trouble(folder)
    assert.deepEqual([finding?.check, finding?.verdict], ['store', 'fail'])
    assert(!JSON.stringify(finding).includes('hunter2'))
  })
})

function change(folder: string, sql: string): void {
  const database = new DatabaseSync(join(folder, '.ambit', 'ambit.db'))
  database.exec(sql)
  database.close()
}
