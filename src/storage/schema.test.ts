import assert from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import { emptySchema } from '../../test/storage/target.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { tenantId } from '../model/identity/tenant-id.ts'
import { allEvents } from '../testing/storage/given.ts'
import {
  chainFlaws,
  plainSeal,
  sampleClaim,
  sampleDraft,
  samplePrincipal,
  sampleTenant,
} from '../testing/storage/sample.ts'
import type { Database } from './database.ts'
import { openPostgres } from './drivers/postgres.ts'
import { openSqlite } from './drivers/sqlite.ts'
import { migrate, migrations, schemaVersion, tables, versionOf } from './schema.ts'
import { openStore, type Store } from './store.ts'
import { takeClaim } from './tables/claims.ts'
import { findEvents } from './tables/events.ts'
import { principalRecords } from './tables/identities.ts'
import { getTenant } from './tables/tenants.ts'
import { type Row, rows, sql, type Table, type Value, type Work } from './work.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

describe('migrations on SQLite [F-15]', () => {
  suite(async () => openSqlite({ path: ':memory:' }))
})

describe.skipIf(server === undefined)('migrations on PostgreSQL [F-15]', () => {
  suite(async () => openPostgres({ url: await emptySchema(server) }))
})

function suite(empty: () => Promise<Database>): void {
  test.each([0, 1])('a store of version %i opens, keeps its data, and works', async (version) => {
    const database = await empty()
    await migrate(database, migrations.slice(0, version))
    assert.equal(await versionOf(database), version)
    if (version > 0) await database.write(someRows)
    const before = version > 0 ? await everyRow(database) : []

    const store = await openStore(database)
    assert.equal(await versionOf(database), schemaVersion)
    if (version > 0) assert.deepEqual(await everyRow(database), before)
    if (version > 0) await works(store)
    await store.close()
  })

  test('a later step makes its tables, changes rows that are there, and keeps all others', async () => {
    const database = await empty()
    await migrate(database)
    await database.write(someRows)
    const before = await everyRow(database)
    await migrate(database, withSecond)
    assert.equal(await versionOf(database), 2)
    assert.deepEqual(await everyRow(database), before)
    const found = await database.read(() => rows('SELECT note_id FROM notes'))
    assert.deepEqual(
      found.map((note) => note['note_id']),
      ['p'],
    )
    await database.close()
  })

  test('a store of a version to come is refused and not touched', async () => {
    const database = await empty()
    await migrate(database)
    await database.write(someRows)
    await database.write(() => rows('UPDATE ambit_schema SET version = 99'))
    const before = await everyRow(database)
    await assert.rejects(openStore(database), { code: 'store.too_new', data: { version: 99, known: schemaVersion } })
    assert.equal(await versionOf(database), 99)
    assert.deepEqual(await everyRow(database), before)
    await database.close()
  })

  test('opening again changes nothing', async () => {
    const database = await empty()
    for (let turn = 0; turn < 2; turn++) {
      await openStore(database)
      assert.equal((await database.read(() => rows('SELECT version FROM ambit_schema'))).length, 1)
    }
    await database.close()
  })

  test('a step that fails leaves the version before it', async () => {
    const database = await empty()
    await migrate(database)
    await database.write(() => rows('CREATE TABLE notes (in_the_way BIGINT)'))
    await assert.rejects(migrate(database, withSecond))
    assert.equal(await versionOf(database), 1)
    await database.write(() => rows('DROP TABLE notes'))
    await migrate(database, withSecond)
    assert.equal(await versionOf(database), 2)
    await database.close()
  })
}

const acme = tenantId('acme')

const notes: Table = {
  name: 'notes',
  columns: { tenant_id: 'text', note_id: 'text', body: 'text' },
  key: ['tenant_id', 'note_id'],
}

/** The steps there are, and one to come that fills its table from what is there. */
const withSecond = [
  ...migrations,
  { tables: [notes], after: ['INSERT INTO notes SELECT tenant_id, principal_id, body FROM principals'] },
]

async function works(store: Store): Promise<void> {
  assert.deepEqual(await store.read(() => getTenant(acme)), sampleTenant('acme'))
  await store.commit(acme, {
    change: takeClaim(sampleClaim('new'), 0),
    events: [sampleDraft('after', { correlation: { correlation_id: 'cor_1' } })],
    seal: plainSeal,
  })
  const events = await allEvents(store, acme)
  assert.deepEqual(await store.read(() => findEvents(acme, { capability: 'cap' })), {
    items: events.slice(0, 2).reverse(),
  })
  assert.equal(events.length, 3)
  assert.deepEqual(chainFlaws(events), [])
  assert.deepEqual(await store.read(() => principalRecords.get(acme, 'p')), samplePrincipal('p', 'it’s'))
}

/** A row of every table, in SQL that outlives the functions of a release. */
const given: readonly (readonly [sql: string, ...params: Value[]])[] = [
  ["INSERT INTO tenants VALUES ('acme', 'acme', ?)", JSON.stringify(sampleTenant('acme'))],
  ["INSERT INTO principals VALUES ('acme', 'p', ?)", JSON.stringify(samplePrincipal('p', 'it’s'))],
  ["INSERT INTO api_keys VALUES ('acme', 'key_1', 'p', '{}')"],
  ...['e-1', 'e-2'].map(eventOf),
  ["INSERT INTO clocks VALUES ('acme', '2026-01-01T00:00:00.000Z', 5)"],
  ["INSERT INTO event_sections VALUES ('acme', 'capability_id', 'cap', 0)"],
  ["INSERT INTO checkpoints VALUES ('acme', 2, '2', 'h', '{}')"],
  ["INSERT INTO blobs VALUES ('acme', 'h', ?)", Buffer.from('bytes')],
  ["INSERT INTO claims VALUES ('acme', 's', 'k', 'f', 'o', 'settled', '{}', '{}', 1)"],
  ["INSERT INTO leases VALUES ('acme', 'l', 'h', 7, 1)"],
  ["INSERT INTO approvals VALUES ('acme', 'apr_1', 'call', 'pending', 1, '{}', NULL, 'ask')"],
  ["INSERT INTO approvers VALUES ('acme', 'ida', '{}')"],
  ["INSERT INTO statements VALUES ('acme', 'witness', 'w', '{}')"],
  ["INSERT INTO histories VALUES ('acme', 's', 1, '{}')"],
  ["INSERT INTO budget_uses VALUES ('acme', 'b', 'h', 0, 1, 2, 3, 4, 5)"],
  ["INSERT INTO purged_events VALUES ('other', 3, 'h', 'p')"],
  ["INSERT INTO runs VALUES ('acme', 'run_1', 'run_1', 'desk', 'running', NULL, NULL, 0, 0, '{}')"],
  ["INSERT INTO run_events VALUES ('acme', 'run_1', 1, 'run_1', '{}', '{}')"],
  ["INSERT INTO decision_records VALUES ('acme', 'dr_1', 0, 'run_1', 'IN_FLIGHT', '{}')"],
  ["INSERT INTO fact_paths VALUES ('acme', 'a/b', 'run_1', 1)"],
  ["INSERT INTO legs VALUES ('acme', 'run_1', 1, 0, 1, NULL)"],
  ["INSERT INTO revocations VALUES ('acme', 1, '{}')"],
  ["INSERT INTO sessions VALUES ('acme', 'desk', 's', 'id', 1, '{}')"],
  ["INSERT INTO session_messages VALUES ('acme', 'desk', 's', 1, 'run_1', '{}')"],
  [
    "INSERT INTO entries VALUES ('acme', 'memory', 'mem_1', 'a', 'active', 'c', 'h', '[]', '{}', 'g', 'r', 't', 't', NULL, 1)",
  ],
  ["INSERT INTO entry_history VALUES ('acme', 'memory', 'mem_1', 1, '{}')"],
  ["INSERT INTO packs VALUES ('acme', 'ctxpack.desk@1.0.0', '{}')"],
  ["INSERT INTO artifacts VALUES ('acme', 'art_1', '{}')"],
]

function eventOf(_: string, index: number, ids: readonly string[]): [sql: string, ...params: Value[]] {
  const events = plainSeal(
    ids.map((id) => sampleDraft(id)),
    { sequence: 0, tails: new Map() },
  )
  const event = events[index]
  assert(event !== undefined)
  return [
    `INSERT INTO events VALUES ('acme', ${event.sequence}, ?, 'type', 'inv', 'cap', ?, NULL, 'success', ?, ?, ?)`,
    event.eventId,
    event.correlationId,
    event.timestamp,
    event.contentHash,
    event.body,
  ]
}

function* someRows(): Work<void> {
  for (const [text, ...params] of given) yield [sql(text, ...params)]
}

const everyRow = async (database: Database): Promise<readonly Row[][]> =>
  database.read(function* () {
    const found: Row[][] = []
    for (const { name, key } of tables) {
      const all = yield* rows(`SELECT * FROM ${name} ORDER BY ${key.join(', ')}`)
      assert(all.length > 0, name)
      found.push([...all])
    }
    return found
  })
