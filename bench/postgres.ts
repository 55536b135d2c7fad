import pg from 'pg'
import { makeSeal } from '../src/evidence/seal.ts'
import { tenantId } from '../src/model/identity/tenant-id.ts'
import { eventRow } from '../src/storage/chain.ts'
import { openPostgres } from '../src/storage/drivers/postgres.ts'
import { events as table } from '../src/storage/schema.ts'
import { openStore } from '../src/storage/store.ts'
import { addTenant } from '../src/storage/tables/tenants.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { atLeast, type Bench, byTurns, rate } from './measure.ts'
import { draftOf } from './records.ts'

const connections = 16
const perConnection = 60
const tenant = tenantId('northlight')
const seal = makeSeal({ hostId: 'northlight', tenant })

/** 16 writers, each on a correlation of its own, one event a commit; raw: 16 connections inserting the same rows. */
const bench: Bench = async () => {
  const server = await startPostgres()
  if (server === undefined) return []
  try {
    const rows = []
    for (const bytes of [300, 1600]) {
      const measured = await compare(await server.database(), await server.database(), bytes)
      rows.push(
        atLeast(
          `sealed append, ${bytes} B, PostgreSQL, ${connections} connections`,
          'events/s',
          'raw insert',
          0.5,
          measured,
        ),
      )
    }
    return rows
  } finally {
    await server.stop()
  }
}
export default bench

async function compare(oursUrl: string, rawUrl: string, bytes: number) {
  const store = await openStore(openPostgres({ url: oursUrl, connections }))
  const created_at = '2026-06-16T15:00:00.000Z'
  await store.write(
    tenant,
    addTenant({ tenant_id: tenant, host_id: tenant, name: tenant, roots: [], status: 'active', created_at }),
  )
  await (await openStore(openPostgres({ url: rawUrl, connections: 1 }))).close()
  const pool = new pg.Pool({ connectionString: rawUrl, max: connections })
  const columns = Object.keys(table.columns)
  const text = `INSERT INTO events (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`
  let sequence = 0
  const lanes = <T>(work: (lane: number) => Promise<T>) =>
    Promise.all(Array.from({ length: connections }, (_, lane) => work(lane)))
  const drafts = () => Array.from({ length: connections * perConnection }, () => draftOf(bytes, connections))
  const mine = <T>(items: readonly T[], lane: number) => items.filter((_, index) => index % connections === lane)

  const ours = async () => {
    const waiting = drafts()
    return rate(waiting.length, () =>
      lanes(async (lane) => {
        for (const draft of mine(waiting, lane)) await store.commit(tenant, { events: [draft], seal })
      }),
    )
  }
  const peer = async () => {
    const events = seal(drafts(), { sequence, tails: new Map() })
    sequence += events.length
    return rate(events.length, () =>
      lanes(async (lane) => {
        for (const event of mine(events, lane))
          await pool.query({ name: 'insert', text, values: [...eventRow(tenant, event)] })
      }),
    )
  }
  try {
    await ours()
    await peer()
    return await byTurns(9, ours, peer)
  } finally {
    await pool.end()
    await store.close()
  }
}
