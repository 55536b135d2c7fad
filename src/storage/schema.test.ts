import assert from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import { emptySchema } from '../../test/storage/target.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { tenantId } from '../model/identity/tenant-id.ts'
import { allEvents, times } from '../testing/storage/given.ts'
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
import { migrate, schemaVersion, versionOf } from './schema.ts'
import { openStore } from './store.ts'
import { neverEnds, usesIn } from './tables/budget-uses.ts'
import { takeClaim } from './tables/claims.ts'
import { findEvents, lastSequence } from './tables/events.ts'
import { principalRecords } from './tables/identities.ts'
import { getTenant } from './tables/tenants.ts'
import { type Row, rows, sql, type Value, type Work } from './work.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

describe('migrations on SQLite [F-15]', () => {
  migrations(async () => openSqlite({ path: ':memory:' }))
})

describe.skipIf(server === undefined)('migrations on PostgreSQL [F-15]', () => {
  migrations(async () => openPostgres({ url: await emptySchema(server) }))
})

function migrations(empty: () => Promise<Database>): void {
  const versions = times(schemaVersion + 1, (version) => version)
  test.each(versions)('a store of version %i opens, keeps its data, and works', async (version) => {
    const database = await empty()
    await migrate(database, version)
    assert.equal(await versionOf(database), version)
    await database.write(() => rowsOf(version))
    const before = await everyRow(database, version)

    const store = await openStore(database)
    assert.equal(await versionOf(database), schemaVersion)
    const after = await everyRow(database, version)
    assert.deepEqual(after, before)
    assert.equal(after.flat().length, steps.slice(0, version).flatMap((step) => step.rows).length)

    if (version > 0) {
      assert.deepEqual(await store.read(() => getTenant(acme)), sampleTenant('acme'))
      const sequence = await store.read(() => lastSequence(acme))
      await store.commit(acme, {
        change: takeClaim(sampleClaim('new'), 0),
        events: [sampleDraft('after', { correlation: { correlation_id: 'cor_1' } })],
        seal: plainSeal,
      })
      const events = await allEvents(store, acme)
      assert.deepEqual(await store.read(() => findEvents(acme, { capability: 'cap' })), {
        items: events.slice(0, sequence).reverse(),
      })
      assert.equal(events.length, sequence + 1)
      assert.deepEqual(chainFlaws(events), [])
      assert.deepEqual(await store.read(() => principalRecords.get(acme, 'p')), samplePrincipal('p', 'it’s'))
    }
    await store.close()
  })

  test('counters of an old store go on as uses that never renew, and what was used per session is used per history', async () => {
    const database = await empty()
    await migrate(database, 8)
    const [actions, mandate, spend] = [['actions', 7] as const, ['mandate', 9] as const, ['spend', 8] as const]
    await database.write(function* () {
      for (const [scope, value] of [actions, mandate, spend])
        yield [sql("INSERT INTO counters VALUES ('acme', ?, 'k', ?)", scope, value)]
      yield [sql("INSERT INTO budget_uses VALUES ('acme', 'b', '7:session3:ida', 0, 1, 2, 3, 4, 5)")]
    })
    const store = await openStore(database)
    const places = ['actions', 'mandate', 'spend'].map((budget) => ({ budget, holder: 'k', ...neverEnds }))
    const shared = { budget: 'b', holder: '7:history3:ida', startsAtMs: 0, endsAtMs: 1 }
    assert.deepEqual(await store.read(() => usesIn(acme, [...places, shared])), [
      { calls: 7, time_ms: 0, cost: 0, bytes: 0 },
      { calls: 9, time_ms: 0, cost: 0, bytes: 0 },
      { calls: 0, time_ms: 0, cost: 8, bytes: 0 },
      { calls: 2, time_ms: 3, cost: 4, bytes: 5 },
    ])
    await store.close()
  })

  test('a store of a version to come is refused and not touched', async () => {
    const database = await empty()
    await migrate(database)
    await database.write(() => rowsOf(schemaVersion))
    await database.write(() => rows('UPDATE ambit_schema SET version = 99'))
    const before = await everyRow(database, schemaVersion)
    await assert.rejects(openStore(database), { code: 'store.too_new', data: { version: 99, known: schemaVersion } })
    assert.equal(await versionOf(database), 99)
    assert.deepEqual(await everyRow(database, schemaVersion), before)
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
    await migrate(database, 1)
    await database.write(() => rows('CREATE TABLE events (in_the_way BIGINT)'))
    await assert.rejects(migrate(database))
    assert.equal(await versionOf(database), 1)
    await database.write(() => rows('DROP TABLE events'))
    await migrate(database)
    assert.equal(await versionOf(database), schemaVersion)
    await database.close()
  })
}

const acme = tenantId('acme')

interface Step {
  readonly tables: readonly string[]
  readonly rows: readonly (readonly [sql: string, ...params: Value[]])[]
}

const approvalColumns = 'tenant_id, approval_id, call_key, state, expires_at_ms, body'
const firstApprovals = `(SELECT ${approvalColumns} FROM approvals) AS first_approvals`

/**
 * What each version added and is still there, and rows it may have held, in the SQL of its time. A new version needs its
 * entry here.
 */
const steps: readonly Step[] = [
  {
    tables: ['tenants', 'principals', 'api_keys'],
    rows: [
      ["INSERT INTO tenants VALUES ('acme', 'acme', ?)", JSON.stringify(sampleTenant('acme'))],
      ["INSERT INTO principals VALUES ('acme', 'p', ?)", JSON.stringify(samplePrincipal('p', 'it’s'))],
      ["INSERT INTO api_keys VALUES ('acme', 'key_1', 'p', '{}')"],
    ],
  },
  {
    tables: ['events', 'checkpoints'],
    rows: [...['e-1', 'e-2'].map(eventOf), ["INSERT INTO checkpoints VALUES ('acme', 2, '2', 'h', '{}')"]],
  },
  {
    tables: ['blobs', 'claims', 'leases', firstApprovals, 'approvers', 'statements'],
    rows: [
      ["INSERT INTO blobs VALUES ('acme', 'h', ?)", Buffer.from('bytes')],
      ["INSERT INTO claims VALUES ('acme', 's', 'k', 'f', 'o', 'settled', '{}', '{}', 1)"],
      ["INSERT INTO leases VALUES ('acme', 'l', 'h', 7, 1)"],
      [`INSERT INTO approvals (${approvalColumns}) VALUES ('acme', 'apr_1', 'call', 'pending', 1, '{}')`],
      ["INSERT INTO approvers VALUES ('acme', 'ida', '{}')"],
      ["INSERT INTO statements VALUES ('acme', 'witness', 'w', '{}')"],
    ],
  },
  {
    tables: ['histories', 'budget_uses'],
    rows: [
      ["INSERT INTO histories VALUES ('acme', 's', 1, '{}')"],
      ["INSERT INTO budget_uses VALUES ('acme', 'b', 'h', 0, 1, 2, 3, 4, 5)"],
    ],
  },
  {
    tables: ['purged_events'],
    rows: [],
  },
  {
    tables: ['clocks', 'event_sections'],
    rows: [
      ["INSERT INTO clocks VALUES ('acme', '2026-01-01T00:00:00.000Z', 5)"],
      ["INSERT INTO event_sections VALUES ('acme', 'capability_id', 'cap', 0)"],
    ],
  },
  {
    tables: [],
    rows: [["INSERT INTO approvals VALUES ('acme', 'apr_2', 'call', 'pending', 1, '{}', 'asker', 'ask')"]],
  },
  {
    tables: [],
    rows: [["INSERT INTO claims VALUES ('acme', 's', 'u', 'f', 'o', 'unknown', '{}', '{}', 1)"]],
  },
  {
    tables: [],
    rows: [["INSERT INTO budget_uses VALUES ('acme', 'c', 'h', 0, 9007199254740991, 2, 0, 0, 0)"]],
  },
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

function* rowsOf(version: number): Work<void> {
  for (const { rows } of steps.slice(0, version)) for (const [text, ...params] of rows) yield [sql(text, ...params)]
}

const everyRow = async (database: Database, version: number): Promise<(readonly Row[])[]> =>
  database.read(function* () {
    const found: (readonly Row[])[] = []
    const tables = steps.slice(0, version).flatMap((step) => step.tables)
    for (const table of tables) found.push(yield* rows(`SELECT * FROM ${table} ORDER BY 1, 2`))
    return found
  })
