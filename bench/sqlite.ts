import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeSeal } from '../src/evidence/seal.ts'
import type { EventDraft } from '../src/model/evidence.ts'
import { tenantId } from '../src/model/identity/tenant-id.ts'
import { eventRow } from '../src/storage/chain.ts'
import { openSqlite } from '../src/storage/drivers/sqlite.ts'
import { events as table } from '../src/storage/schema.ts'
import { openStore, type Store } from '../src/storage/store.ts'
import { addTenant } from '../src/storage/tables/tenants.ts'
import { atLeast, type Bench, byTurns } from './measure.ts'
import { draftOf } from './records.ts'

const tenant = tenantId('northlight')
const seal = makeSeal({ hostId: 'northlight', tenant })

/** The same rows into the same table with the same indexes and durability, sealed beforehand: the physical limit. */
const bench: Bench = async () => {
  const rows = []
  for (const bytes of [300, 1600]) {
    rows.push(
      atLeast(
        `sealed append, ${bytes} B, 1 per commit, full`,
        'events/s',
        'raw insert',
        0.8,
        await compare(bytes, { perCommit: 1, commits: 100, rounds: 61 }),
      ),
    )
    rows.push(
      atLeast(
        `sealed append, ${bytes} B, 100 per commit, full`,
        'events/s',
        'raw insert',
        0.4,
        await compare(bytes, { perCommit: 100, commits: 40, rounds: 9 }),
      ),
    )
  }
  return rows
}
export default bench

interface Load {
  readonly perCommit: number
  readonly commits: number
  readonly rounds: number
}

async function compare(bytes: number, { perCommit, commits, rounds }: Load) {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const store = await openBenchStore(join(folder, 'ours.db'))
  const raw = await openRaw(join(folder, 'raw.db'))
  const drafts = () => Array.from({ length: perCommit }, () => draftOf(bytes, 1000))
  const append = (to: Store, events: readonly EventDraft[]) => to.commit(tenant, { events, seal })
  const ours = () => timed(commits, drafts, (events) => append(store, events))
  const peer = () => timed(commits, () => raw.sealed(drafts()), raw.insert)
  try {
    // As long as the engine still compiles, that is what is measured.
    const warm = await openBenchStore(':memory:')
    for (let left = 20_000; left > 0; left -= perCommit) await append(warm, drafts())
    await warm.close()
    await ours()
    await peer()
    const measured = await byTurns(rounds, ours, peer)
    return { ...measured, ours: measured.ours * perCommit, peer: measured.peer * perCommit }
  } finally {
    raw.close()
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

/** Commits per second, of what was made a moment ago, as an application makes it; making it is not counted. */
async function timed<T>(times: number, make: () => T, commit: (made: T) => unknown): Promise<number> {
  let spent = 0n
  for (let left = times; left > 0; left--) {
    const made = make()
    const start = process.hrtime.bigint()
    await commit(made)
    spent += process.hrtime.bigint() - start
  }
  return times / (Number(spent) / 1e9)
}

export async function openBenchStore(path: string): Promise<Store> {
  const store = await openStore(openSqlite({ path }))
  const created_at = '2026-06-16T15:00:00.000Z'
  await store.write(
    tenant,
    addTenant({ tenant_id: tenant, host_id: tenant, name: tenant, roots: [], status: 'active', created_at }),
  )
  return store
}

export async function appendAll(store: Store, batches: readonly (readonly EventDraft[])[]): Promise<void> {
  for (const events of batches) await store.commit(tenant, { events, seal })
}

async function openRaw(path: string) {
  await (await openStore(openSqlite({ path }))).close()
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  const columns = Object.keys(table.columns)
  const insert = database.prepare(
    `INSERT INTO events (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  let sequence = 0
  return {
    sealed: (drafts: readonly EventDraft[]): readonly SqlRow[] => {
      const events = seal(drafts, { sequence, tails: new Map() })
      sequence += events.length
      return events.map((event) => eventRow(tenant, event) as SqlRow)
    },
    insert: (rows: readonly SqlRow[]): void => {
      begin.run()
      for (const row of rows) insert.run(...row)
      commit.run()
    },
    close: () => database.close(),
  }
}

type SqlRow = readonly (string | number | null)[]
