import assert from 'node:assert/strict'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { filesIn, givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { Config } from '../../model/config/config.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { appendBucket } from '../../storage/entries/buckets.ts'
import { addEntry, supersedeEntry } from '../../storage/entries/entries.ts'
import { findEntries } from '../../storage/entries/entry-index.ts'
import { tables } from '../../storage/schema.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { putBlob } from '../../storage/tables/blobs.ts'
import { addClaim, takeClaim } from '../../storage/tables/claims.ts'
import { approverRecords } from '../../storage/tables/identities.ts'
import { acquireLease } from '../../storage/tables/leases.ts'
import { addStatement } from '../../storage/tables/statements.ts'
import { inOrder, rows } from '../../storage/work.ts'
import { countingIds } from '../../testing/ports.ts'
import { sampleEntry, sampleStep } from '../../testing/storage/entry-samples.ts'
import { addWithin, sampleApproval, sampleApprover, sampleClaim } from '../../testing/storage/sample.ts'
import { examine } from '../doctor/doctor.ts'
import { authenticate, issueKey } from '../identity/api-keys.ts'
import { operator } from '../identity/caller.ts'
import { createPrincipal } from '../identity/principals.ts'
import { openDatabase, type Runtime } from '../runtime.ts'
import { loadSettings, type Settings } from '../settings/config.ts'
import { acceptLoss } from './accept-loss.ts'
import { backUp, linesOf, restore } from './backup.ts'
import { exportBundle } from './export.ts'
import { record } from './record.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

const me = operator(tenantId('acme'))
const event = { event_type: 'noted', payload: { text: 'äöü 𝒳\u2028' }, correlation: { correlation_id: 'c' } }

const waiting = { state: 'waiting', result: '{"a":1}', expiresAtMs: null } as const

const noted = sampleEntry('a text that stays', { topics: ['general', 'äöü'] })

/** Something for every table that the rest of a store leaves empty. */
const oneOfEach = [
  takeClaim(sampleClaim('running'), 0),
  addClaim({ ...sampleClaim('waiting'), ...waiting }, 0),
  addClaim({ ...sampleClaim('settled'), ...waiting, state: 'settled', expiresAtMs: 5 }, 0),
  acquireLease({ name: 'l', holder: 'h', ttlMs: 1 }, 0),
  addWithin({ scope: 's', key: 'k', amount: Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
  approvalRecords.add('call', sampleApproval('apr_1', { purpose: 'äöü 𝒳' })),
  approverRecords.add(sampleApprover('ida')),
  addStatement({ kind: 'witness', id: 'w', body: '{"a":1}' }),
  addEntry(noted, sampleStep()),
  addEntry(sampleEntry('a text that goes', { scope: 'acme/é' }), sampleStep()),
  addEntry(sampleEntry('a line of a log', { scope: 'acme', content_hash: null }), sampleStep()),
  supersedeEntry(noted, sampleEntry('another text that stays'), sampleStep('superseded')),
  appendBucket('desk', { content: 'text', created_at: noted.created_at, agent_id: 'desk', run_id: 'r' }, countingIds()),
]

/** A store with two tenants and something in every table, and the folder it is in. */
async function givenStore(): Promise<{ folder: string; ambit: Runtime; secret: string }> {
  const folder = tempFolder()
  const ambit = await givenAmbit({ folder })
  await givenTenant(ambit)
  await givenTenant(ambit, { id: 'other' })
  await createPrincipal(ambit, me, { id: 'ida', kind: 'user' })
  const { secret } = await issueKey(ambit, me, { principal: 'ida' })
  await record(ambit, me, [event, event], putBlob(new Uint8Array([0, 255, 10, 13])))
  await record(ambit, me, [event], inOrder(...oneOfEach))
  return { folder, ambit, secret }
}

/** A folder with the same keys, and settings for an empty store in it. */
async function emptyStore(from: string, config: Config = {}): Promise<Settings> {
  const folder = tempFolder()
  writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify(config))
  mkdirSync(join(folder, '.ambit'), { mode: 0o700 })
  copyFolder(join(from, '.ambit', 'keys'), join(folder, '.ambit', 'keys'))
  return loadSettings({ folder, env: {} })
}

function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  chmodSync(to, 0o700)
}

const folderOf = (settings: Settings): string => join(settings.dataDir, '..')

/** What makes entries findable, and no table of a backup. */
async function indexOf({ database }: Runtime): Promise<unknown> {
  const all = ['entry_topics', 'topic_counts'].map(async (table) => {
    const found = await database.read(() => rows(`SELECT * FROM ${table} ORDER BY 1, 2, 3, 4, 5`))
    return found.map((each) => ({ ...each }))
  })
  const areas = [
    { scope: 'acme', below: true },
    { scope: 'a', below: false },
  ]
  const found = ['stays', 'text'].map((word) =>
    database.read(() => findEntries(me.tenant, 'memory', { areas, words: [word], nowMs: 0 })),
  )
  return Promise.all([...all, ...found])
}

/** Everything a store holds, table by table; reading it makes no table. */
async function contentsOf(settings: Settings): Promise<unknown> {
  const database = await openDatabase(settings)
  const all = tables.map(async ({ name, key }) => [
    name,
    await database.read(() => rows(`SELECT * FROM ${name} ORDER BY ${key.join(', ')}`)),
  ])
  return Promise.all(all).finally(() => database.close())
}

async function verdicts(folder: string): Promise<readonly string[]> {
  const findings = []
  for await (const finding of examine({ folder, env: {} }, { deep: true })) findings.push(finding)
  return findings.filter(({ verdict }) => verdict === 'fail').map(({ check, message }) => `${check}: ${message}`)
}

describe('a backup restores to an equal store [F-16]', () => {
  test('on the same database: records, people, keys and bytes', async () => {
    const { folder, ambit, secret } = await givenStore()
    const file = join(folder, 'backup')
    const summary = await backUp(ambit, file)
    const bundle = await exportBundle(ambit, me, 'c')
    await ambit.close()
    const settings = await emptyStore(folder)
    assert.deepEqual(await restore(settings, file), summary)
    assert.deepEqual(await verdicts(folderOf(settings)), [])
    const again = await givenAmbit({ folder: folderOf(settings) })
    assert.equal((await authenticate(again, secret)).subject.id, 'ida')
    assert.deepEqual((await exportBundle(again, me, 'c')).events, bundle.events)
    assert.equal((await exportBundle(again, me, 'c')).root_hash, bundle.root_hash)
    await record(again, me, [event])
  })

  test.skipIf(server === undefined)('there and back over PostgreSQL, equal in every row', async () => {
    const { folder, ambit, secret } = await givenStore()
    await backUp(ambit, join(folder, 'one'))
    const bundle = await exportBundle(ambit, me, 'c')
    const index = await indexOf(ambit)
    await ambit.close()

    const url = (await server?.database()) ?? ''
    const middle = await emptyStore(folder, { store: { driver: 'postgres', url } })
    await restore(middle, join(folder, 'one'))
    assert.deepEqual(await verdicts(folderOf(middle)), [])
    const there = await givenAmbit({ folder: folderOf(middle) })
    assert.deepEqual(await indexOf(there), index)
    assert.equal((await authenticate(there, secret)).tenant, 'acme')
    assert.deepEqual((await exportBundle(there, me, 'c')).events, bundle.events)
    await backUp(there, join(folder, 'two'))
    await there.close()

    const back = await emptyStore(folder)
    await restore(back, join(folder, 'two'))
    assert.deepEqual(await verdicts(folderOf(back)), [])
    const home = await givenAmbit({ folder: folderOf(back) })
    assert.deepEqual(await indexOf(home), index)
    assert.deepEqual((await exportBundle(home, me, 'c')).events, bundle.events)
    const [first, second] = ['one', 'two'].map((name) => [...linesOf(join(folder, name))].slice(1, -1))
    assert.deepEqual(second, first)
  })

  test('taken while others write, it is one moment of the store', async () => {
    const { folder, ambit } = await givenStore()
    const other = await givenAmbit({ folder })
    const [summary] = await Promise.all([
      backUp(ambit, join(folder, 'backup')),
      ...Array.from({ length: 30 }, () => record(other, me, [event])),
      ...Array.from({ length: 30 }, () => record(ambit, me, [event])),
    ])
    const settings = await emptyStore(folder)
    assert.deepEqual(await restore(settings, join(folder, 'backup')), summary)
    assert.deepEqual(await verdicts(folderOf(settings)), [])
  })

  test('it holds no secret and no key, and is its owner’s alone', async () => {
    const { folder, ambit, secret } = await givenStore()
    await ambit.secrets.set(me.tenant, 'mail', 'correct horse')
    await backUp(ambit, join(folder, 'backup'))
    const bytes = readFileSync(join(folder, 'backup'))
    assert.equal(statSync(join(folder, 'backup')).mode & 0o777, 0o600)
    assert(!bytes.includes('correct horse') && !bytes.includes(secret.split('.').at(-1) ?? 'x'))
    const { current } = JSON.parse(readFileSync(join(folder, '.ambit/keys/acme.key.json'), 'utf8'))
    assert(!bytes.includes(current.private))
  })

  test('it brings a signed head over all it holds, so that the newest one restores without a loss', async () => {
    const { folder, ambit } = await givenStore()
    await backUp(ambit, join(folder, 'backup'))
    await ambit.close()
    const settings = await emptyStore(folder)
    await restore(settings, join(folder, 'backup'))
    copyFolder(join(folder, '.ambit', 'heads'), join(settings.dataDir, 'heads'))
    await givenAmbit({ folder: folderOf(settings) })
  })

  test('a tenant whose key is lost is in it all the same', async () => {
    const { folder, ambit } = await givenStore()
    const key = join(folder, '.ambit/keys/acme.key.json')
    renameSync(key, join(folder, 'key'))
    const { rows: count } = await backUp(ambit, join(folder, 'backup'))
    assert(count > 10)
    await assert.rejects(ambit.close(), { code: 'key.not_found' })
    renameSync(join(folder, 'key'), key)
  })

  test('the caller can be told how far it is', async () => {
    const { folder, ambit } = await givenStore()
    await record(ambit, me, Array(1_000).fill(event))
    const told: number[] = []
    await backUp(ambit, join(folder, 'backup'), (count) => told.push(count))
    await restore(await emptyStore(folder), join(folder, 'backup'), (count) => told.push(count))
    assert.deepEqual(told, [1_000, 1_000])
  })
})

describe('a backup that is not whole is refused before anything changes [F-16]', () => {
  const changes: readonly [string, (lines: string[]) => readonly string[]][] = [
    ['empty', () => []],
    ['without its first line', (lines) => lines.slice(1)],
    ['without its end', (lines) => lines.slice(0, -1)],
    ['cut in the middle of a line', (lines) => [...lines.slice(0, 4), (lines[4] ?? '').slice(0, 10)]],
    ['a row removed', (lines) => lines.toSpliced(3, 1)],
    ['a row twice', (lines) => lines.toSpliced(3, 0, lines[3] ?? '')],
    ['two rows swapped', (lines) => lines.toSpliced(3, 2, lines[4] ?? '', lines[3] ?? '')],
    ['one letter changed', (lines) => lines.map((line) => line.replace('"acme"', '"acmf"'))],
    ['a blank added', (lines) => lines.map((line, index) => (index === 5 ? `${line} ` : line))],
    ['another count', (lines) => lines.map((line) => line.replace(/"rows":\d+/, '"rows":1'))],
    ['going on after its end', (lines) => [...lines, lines[1] ?? '']],
    ['of another schema', (lines) => resealed(lines.with(0, (lines[0] ?? '').replace(/"schema":\d+/, '"schema":99')))],
    ['of another kind', (lines) => resealed(lines.with(0, '{"other_backup":1}'))],
    ['a table that is not there', (lines) => resealed(lines.with(1, '{"t":"sqlite_master","r":[1]}'))],
    ['a row too short', (lines) => resealed(lines.with(1, '{"t":"tenants","r":["a"]}'))],
    ['a cell that is none', (lines) => resealed(lines.with(1, '{"t":"tenants","r":["a","b",{"c":1}]}'))],
    ['a cell of another type', (lines) => resealed(lines.with(1, '{"t":"tenants","r":["a","b",1]}'))],
    ['a cell that is null where none may be', (lines) => resealed(lines.with(1, '{"t":"tenants","r":["a","b",null]}'))],
    ['text with a NUL', (lines) => resealed(lines.with(1, '{"t":"tenants","r":["a","b","\\u0000"]}'))],
    ['half a number', (lines) => resealed(lines.with(1, '{"t":"leases","r":["a","b","c",1.5,1]}'))],
    ['bytes that are no base64', (lines) => resealed(lines.with(1, '{"t":"blobs","r":["a","b",{"b":"A?=="}]}'))],
    ['bytes with a member more', (lines) => resealed(lines.with(1, '{"t":"blobs","r":["a","b",{"b":"","c":1}]}'))],
    ['a row with a member more', (lines) => resealed(lines.with(1, '{"t":"tenants","r":["a","b","{}"],"x":1}'))],
    ['a row with a member twice', (lines) => resealed(lines.with(1, '{"t":"tenants","r":[],"r":["a","b","{}"]}'))],
    ['a first line with a member more', (lines) => resealed(lines.with(0, (lines[0] ?? '').replace('{', '{"x":1,')))],
    ['an end with a member more', (lines) => lines.with(-1, (lines.at(-1) ?? '').replace('{', '{"x":1,'))],
    ['nothing but null', (lines) => lines.with(2, 'null')],
    ['not JSON', (lines) => lines.with(2, 'hello')],
    ['JSON that is no object', (lines) => lines.with(2, '[]')],
  ]

  test('changed, cut, reordered or made up', async () => {
    const { folder, ambit } = await givenStore()
    await backUp(ambit, join(folder, 'backup'))
    const lines = [...linesOf(join(folder, 'backup'))]
    const settings = await emptyStore(folder)
    for (const [name, change] of changes) {
      writeFileSync(
        join(folder, 'changed'),
        change(lines)
          .map((line) => `${line}\n`)
          .join(''),
      )
      await assert.rejects(restore(settings, join(folder, 'changed')), { code: 'backup.invalid' }, name)
      assert(!filesIn(settings.dataDir).has('ambit.db'), name)
    }
    await restore(settings, join(folder, 'backup'))
  })

  test('a row twice under a hash that holds, told while it is loaded', async () => {
    const { folder, ambit } = await givenStore()
    await backUp(ambit, join(folder, 'backup'))
    const lines = [...linesOf(join(folder, 'backup'))]
    writeFileSync(join(folder, 'twice'), resealed(lines.toSpliced(1, 0, lines[1] ?? '')).join('\n'))
    const settings = await emptyStore(folder)
    await assert.rejects(restore(settings, join(folder, 'twice')), { code: 'backup.invalid' })
    await restore(settings, join(folder, 'backup'))
  })

  test('the line is named', async () => {
    const { folder, ambit } = await givenStore()
    await backUp(ambit, join(folder, 'backup'))
    const lines = [...linesOf(join(folder, 'backup'))]
    const settings = await emptyStore(folder)
    for (const [line, text] of [
      [3, '{"t":"tenants","r":["a","b",1]}'],
      [4, '{"t":'],
    ] as const) {
      writeFileSync(join(folder, 'changed'), lines.with(line - 1, text).join('\n'))
      const named = { code: 'backup.invalid', message: new RegExp(`line ${line}\\b`), data: { line } }
      await assert.rejects(restore(settings, join(folder, 'changed')), named)
    }
  })

  test('bytes that are not UTF-8, and a line without end', () => {
    const file = join(tempFolder(), 'backup')
    writeFileSync(file, Buffer.from([0x61, 0x0a, 0x62, 0xff, 0x0a]))
    assert.throws(() => [...linesOf(file)], { code: 'backup.invalid', data: { line: 2 } })
    writeFileSync(file, Buffer.alloc(limits.backupLineBytesMax + 1, 'a'))
    assert.throws(() => [...linesOf(file)], { code: 'backup.invalid', data: { line: 1 } })
  })

  test('lines are read whole across the pieces of a file, whatever letter the cut falls into', () => {
    const file = join(tempFolder(), 'backup')
    const lines = ['a', 'ä'.repeat(700_000), '', '𝒳'.repeat(600_001), 'end']
    writeFileSync(file, lines.join('\n'))
    assert.deepEqual([...linesOf(file)], lines)
    writeFileSync(file, `${lines.join('\n')}\n`)
    assert.deepEqual([...linesOf(file)], lines)
  })

  /** As an attacker would who can compute the hash at the end. */
  function resealed(lines: readonly string[]): readonly string[] {
    const body = lines.slice(0, -1)
    const hash = body.reduce((digest, line) => sha256(digest + line), '')
    return [...body, JSON.stringify({ end: true, rows: body.length - 1, sha256: hash })]
  }

  test.each([
    ['missing', 'nowhere/at-all'],
    ['a folder', '.'],
  ])('%s', async (_, path) => {
    const folder = tempFolder()
    const settings = await loadSettings({ folder, env: {} })
    await assert.rejects(restore(settings, join(folder, path)), { code: 'file.not_found' })
    assert(!existsSync(settings.dataDir))
  })

  test('and a store that holds anything is left as it is', async () => {
    const { folder, ambit } = await givenStore()
    await backUp(ambit, join(folder, 'backup'))
    const before = await contentsOf(ambit.settings)
    await assert.rejects(restore(ambit.settings, join(folder, 'backup')), { code: 'store.not_empty' })
    assert.deepEqual(await contentsOf(ambit.settings), before)
  })
})

describe('a backup is written whole or not at all [F-16]', () => {
  test('never over a file that is there, and never where no folder is', async () => {
    const { folder, ambit } = await givenStore()
    const file = join(folder, 'backup')
    await backUp(ambit, file)
    const before = readFileSync(file)
    await assert.rejects(backUp(ambit, file), { code: 'file.exists' })
    assert.deepEqual(readFileSync(file), before)
    await assert.rejects(backUp(ambit, join(folder, 'nowhere', 'backup')), { code: 'file.not_found' })
  })

  test('half of one does not stay', async () => {
    const { folder, ambit } = await givenStore()
    await ambit.close()
    await assert.rejects(backUp(ambit, join(folder, 'backup')))
    assert(!existsSync(join(folder, 'backup')))
  })
})

test('an older backup under newer heads is refused until the loss is accepted [F-16 H-88]', async () => {
  const { folder, ambit } = await givenStore()
  await backUp(ambit, join(folder, 'monday'))
  await record(ambit, me, [event])
  await ambit.close()
  const settings = await emptyStore(folder)
  await restore(settings, join(folder, 'monday'))
  copyFolder(join(folder, '.ambit', 'heads'), join(settings.dataDir, 'heads'))
  await assert.rejects(givenAmbit({ folder: folderOf(settings) }), { code: 'head.mismatch', data: { tenant: 'acme' } })
  const aside = (await acceptLoss(settings, me.tenant)) ?? ''
  const again = await givenAmbit({ folder: folderOf(settings) })
  await record(again, me, [event])
  await again.close()
  assert.deepEqual(await verdicts(folderOf(settings)), [])
  assert(filesIn(settings.dataDir).has(join('heads', aside)))
})
