import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeSeal } from '../src/evidence/seal.ts'
import type { CallCaller } from '../src/gateway/call.ts'
import { defineCapability } from '../src/gateway/capability.ts'
import { tenantId } from '../src/model/identity/tenant-id.ts'
import { type AmbitHost, openHost } from '../src/runtime/hosting/host.ts'
import { makeOffer } from '../src/runtime/hosting/offer.ts'
import { createTenant } from '../src/runtime/identity/tenants.ts'
import { openAmbit, type Runtime } from '../src/runtime/runtime.ts'
import { eventRow } from '../src/storage/chain.ts'
import { events as table } from '../src/storage/schema.ts'
import { rows, text } from '../src/storage/work.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { type Bench, median, type Row, rate } from './measure.ts'
import { draftOf } from './records.ts'

const tenant = tenantId('northlight')
const callers = 16
const stored = 300_000

/** A governed call from its envelope to its result: all gates, two transactions, two sealed events. */
const bench: Bench = async () => [
  ...(await costs()),
  await throughput('SQLite, full', { driver: 'sqlite', path: 'ambit.db', durability: 'full' }, 5_000),
  ...(await onPostgres()),
  await growth(),
]
export default bench

const payload = { value: 'hello', attempt: 1, tags: ['a', 'b'] }
const handler = (input: unknown) => ({ echo: input })
const echo = defineCapability(
  { id: 'bench.echo', version: '1.0.0', description: 'Says it again.', policy: { auth_required: true } },
  handler,
)

const caller: CallCaller = {
  subject: { id: 'stock-planner', type: 'api_key', verified: true, tenant },
  name: 'principal:stock-planner',
  scopes: [],
  permissions: [],
  revokedPermissions: [],
}

async function withHost<T>(store: object, act: (host: AmbitHost, ambit: Runtime) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify({ store }))
  const ambit = await openAmbit({ folder, env: {} })
  try {
    await createTenant(ambit, { id: tenant })
    const host = await openHost(ambit, tenant, (hostId) => makeOffer(hostId, { capabilities: [echo] }))
    const done = await act(host, ambit)
    await host.close()
    return done
  } finally {
    await ambit.close()
    rmSync(folder, { recursive: true })
  }
}

/** Calls one after the other, each in a correlation of its own. */
async function callOften({ gateway }: AmbitHost, times: number): Promise<void> {
  for (let left = times; left > 0; left--) await gateway.invoke(caller, { capability_id: 'bench.echo', payload })
}

/** Microseconds of processor time for each of so many. */
async function cpu(times: number, work: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}

const costs = (): Promise<Row[]> =>
  withHost({ driver: 'sqlite', path: ':memory:' }, async (host) => {
    const times = 2_000
    // As long as the engine still compiles, that is what is measured.
    await callOften(host, 15 * times)
    // One after the other: what is cleared away behind one of them is not counted as the work of another.
    const ours = await medianOf(() => cpu(times, () => callOften(host, times)))
    const bare = await medianOf(() => cpu(times * 10, () => bareOften(times * 10)))
    const raw = await openRaw()
    const commits = await medianOf(() => {
      const pairs = Array.from({ length: times }, () => raw.sealed())
      return cpu(times, () => pairs.forEach(raw.commit))
    })
    raw.close()
    const rowFor = (peerName: string, peer: number): Row => ({
      name: 'governed call in process, :memory:, CPU',
      unit: 'µs',
      ours,
      peer,
      peerName,
      ratio: ours / peer,
      goal: 'ours ≤ 100',
      met: ours <= 100,
    })
    return [rowFor('the bare handler', bare), rowFor('raw commit of two rows', commits)]
  })

async function medianOf(measure: () => Promise<number>): Promise<number> {
  const found: number[] = []
  for (let round = 0; round < 9; round++) found.push(await measure())
  return median(found)
}

async function bareOften(times: number): Promise<void> {
  for (let left = times; left > 0; left--) await handler(payload)
}

/** Two events, sealed beforehand, in one transaction on the same table and indexes. */
async function openRaw() {
  const database = new DatabaseSync(':memory:')
  for (const statement of await tableOfEvents()) database.exec(statement)
  const columns = Object.keys(table.columns)
  const insert = database.prepare(`INSERT INTO events VALUES (${columns.map(() => '?').join(', ')})`)
  const seal = makeSeal({ hostId: tenant, tenant })
  let sequence = 0
  const sealed = () => {
    const events = seal([draftOf(300, 1), draftOf(300, 1)], { sequence, tails: new Map() })
    sequence += events.length
    return events
  }
  const commit = (events: ReturnType<typeof sealed>): void => {
    database.exec('BEGIN IMMEDIATE')
    for (const event of events) insert.run(...eventRow(tenant, event))
    database.exec('COMMIT')
  }
  return { sealed, commit, close: () => database.close() }
}

/** How a store makes the table of events, with its indexes. */
function tableOfEvents(): Promise<string[]> {
  return withHost({ driver: 'sqlite', path: ':memory:' }, async (_, ambit) => {
    const select = "SELECT sql FROM sqlite_master WHERE tbl_name = 'events' AND sql IS NOT NULL ORDER BY type DESC"
    return (await ambit.database.read(() => rows(select))).map((found) => text(found, 'sql'))
  })
}

const throughput = (name: string, store: object, least: number): Promise<Row> =>
  withHost(store, async (host) => {
    const each = 100
    const together = () =>
      rate(callers * each, () => Promise.all(Array.from({ length: callers }, () => callOften(host, each))))
    const alone = () => rate(each, () => callOften(host, each))
    await together()
    const many: number[] = []
    const one: number[] = []
    for (let round = 0; round < 7; round++) {
      many.push(await together())
      one.push(await alone())
    }
    const [ours, peer] = [median(many), median(one)]
    return {
      name: `governed calls, ${name}, ${callers} callers`,
      unit: 'calls/s',
      ours,
      peer,
      peerName: 'one caller',
      ratio: ours / peer,
      goal: `ours ≥ ${least.toLocaleString('en-US')}`,
      met: ours >= least,
    }
  })

async function onPostgres(): Promise<Row[]> {
  const server = await startPostgres()
  if (server === undefined) return []
  try {
    return [await throughput('PostgreSQL', { driver: 'postgres', url: await server.database() }, 1_500)]
  } finally {
    await server.stop()
  }
}

/** The cost of a call in an empty store and in one with many events, by turns. */
const growth = (): Promise<Row> =>
  withHost({ driver: 'sqlite', path: 'small.db', durability: 'normal' }, (small) =>
    withHost({ driver: 'sqlite', path: 'large.db', durability: 'normal' }, async (large, ambit) => {
      const seal = makeSeal({ hostId: large.hostId, tenant })
      for (let left = stored; left > 0; left -= 500)
        await ambit.store.commit(tenant, { events: Array.from({ length: 500 }, () => draftOf(300, 10_000)), seal })
      const times = 300
      const microseconds = (host: AmbitHost) => cpu(times, () => callOften(host, times))
      const empty: number[] = []
      const full: number[] = []
      for (let round = 0; round < 11; round++) {
        empty.push(await microseconds(small))
        full.push(await microseconds(large))
      }
      const [ours, peer] = [median(full), median(empty)]
      return {
        name: `governed call with ${stored.toLocaleString('en-US')} events stored, CPU`,
        unit: 'µs',
        ours,
        peer,
        peerName: 'the same, empty store',
        ratio: ours / peer,
        goal: 'ratio ≤ 1.2',
        met: ours / peer <= 1.2,
      }
    }),
  )
