import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TenantId } from '../src/model/identity/tenant-id.ts'
import type { Database } from '../src/storage/database.ts'
import { openPostgres } from '../src/storage/drivers/postgres.ts'
import { openSqlite } from '../src/storage/drivers/sqlite.ts'
import { addEntry } from '../src/storage/entries/entries.ts'
import { findEntries } from '../src/storage/entries/entry-index.ts'
import { openStore, type Store } from '../src/storage/store.ts'
import { type Change, inOrder } from '../src/storage/work.ts'
import { sampleEntry, sampleStep } from '../src/testing/storage/entry-samples.ts'
import { makeTenant } from '../src/testing/storage/sample.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { type Bench, median, type Row, rate } from './measure.ts'

/** What providers keep: a write into a scope that grows, and two words found among the entries of many tenants. */
const bench: Bench = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const server = await startPostgres({ fsync: false })
  const path = join(folder, 'ambit.db')
  try {
    const rows = await measure('SQLite', openSqlite({ path, durability: 'normal' }), { tenants: 20, entries: 10_000 })
    if (server === undefined) return rows
    const postgres = openPostgres({ url: server.url })
    const settle = () => analyze(server.url)
    return [...rows, ...(await measure('PostgreSQL', postgres, { tenants: 8, entries: 10_000, settle }))]
  } finally {
    await server?.stop()
    rmSync(folder, { recursive: true })
  }
}
export default bench

interface Size {
  readonly tenants: number
  readonly entries: number
  /** Done between writing and reading. */
  readonly settle?: () => Promise<void>
}

/** What autovacuum does by itself within minutes of so many writes. */
async function analyze(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('ANALYZE')
  await client.end()
}

async function measure(name: string, database: Database, size: Size): Promise<readonly Row[]> {
  const store = await openStore(database)
  try {
    return [await writes(name, store), await recall(name, store, size)]
  } finally {
    await store.close()
  }
}

/** Writes one after the other, at the first entries of a scope and when it holds 5,000. */
async function writes(name: string, store: Store): Promise<Row> {
  const tenant = await makeTenant(store, 'grows')
  const round = (): Promise<number> => rate(200, () => writeEach(store, tenant, 200))
  await writeEach(store, await makeTenant(store, 'warm'), 200)
  const first = [await round(), await round(), await round()]
  await fill(store, tenant, 4_400)
  const last = [await round(), await round(), await round(), await round(), await round()]
  const [ours, peer] = [median(last), median(first)]
  return {
    ...{ name: `memory writes at 5,000 entries, ${name}`, unit: 'writes/s', ours, peer, peerName: 'at the first' },
    ...{ ratio: ours / peer, goal: 'ratio ≥ 0.67', met: ours * 1.5 >= peer },
  }
}

/** Pages of 20 that two words lead to, in one tenant of many that hold as much. */
async function recall(name: string, store: Store, { tenants, entries, settle }: Size): Promise<Row> {
  const names: TenantId[] = []
  for (let index = 0; index < tenants; index++) {
    names.push(await makeTenant(store, `tenant-${index}`))
    await fill(store, names[index] as TenantId, entries)
  }
  await settle?.()
  const search = { areas: [{ scope: 'a', below: false }], nowMs: 0 }
  const tookMs: number[] = []
  for (let asked = 0; asked < 200; asked++) {
    const start = performance.now()
    const words = [word(asked), word(asked * 7 + 3)]
    const tenant = names[asked % tenants] as TenantId
    await store.read(() => findEntries(tenant, 'memory', { ...search, words }, { limit: 20 }))
    tookMs.push(performance.now() - start)
  }
  const ours = median(tookMs)
  return {
    ...{ name: `recall of two words, ${entries} entries in each of ${tenants} tenants, ${name}`, unit: 'ms' },
    ...{ ours, peer: 5, peerName: 'goal', ratio: 5 / ours, goal: 'ours < 5', met: ours < 5 },
  }
}

// Twelve of 500 words each: a pair of words is in about one of 1,700 entries.
const word = (number: number): string => `word${number % 500}`
let made = 0
function nextEntry(): Change<void> {
  const at = made++
  const content = Array.from({ length: 12 }, (_, index) => word(at * 31 + index * (at % 97) + index)).join(' ')
  return addEntry(sampleEntry(`${content} ${at}`), sampleStep())
}

async function writeEach(store: Store, tenant: TenantId, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await store.write(tenant, nextEntry())
}

async function fill(store: Store, tenant: TenantId, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 200) {
    await store.write(tenant, inOrder(...Array.from({ length: Math.min(200, left) }, nextEntry)))
  }
}
