import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { allEvents, codes, times } from '../../testing/storage/given.ts'
import { makeTenant, plainSeal, sampleDraft } from '../../testing/storage/sample.ts'
import { openStore } from '../store.ts'
import { putBlob } from '../tables/blobs.ts'
import { row, rows, type Work } from '../work.ts'
import { openSqlite } from './sqlite.ts'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ambit-sqlite-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('a file that cannot be a store is refused with what to do about it [F-14]', () => {
  test('a file that is no database', async () => {
    writeFileSync(path, 'just some notes, kept here by mistake\n'.repeat(100))
    await assert.rejects(opened(path), unavailable(/^sqlite 26$/, /not a store/))
    assert.equal(statSync(path).size, 3800)
  })

  test('a file that may only be read, in a folder that may be written and in one that may not', async () => {
    await (await openStore(openSqlite({ path }))).close()
    chmodSync(path, 0o444)
    for (const mode of [0o777, 0o755]) {
      chmodSync(folder, mode)
      await asOrdinaryUser(() => assert.rejects(opened(path), unavailable(/^sqlite (8|1544)$/, /read-only/)))
    }
  })

  test('a folder in which nothing can be made', async () => {
    chmodSync(folder, 0o555)
    await asOrdinaryUser(() => assert.rejects(opened(path), unavailable(/^EACCES$/, /owner and mode/)))
  })

  test('a folder, and a file in a folder that is not there', async () => {
    await assert.rejects(opened(folder), unavailable(/^sqlite 14$/, /cannot be opened/))
    await assert.rejects(opened(join(folder, 'none', 'store.db')), unavailable(/^ENOENT$/, /does not exist/))
  })
})

test('a full disk refuses the commit whole, and the next one works once there is space [F-14]', async () => {
  const database = openSqlite({ path })
  const store = await openStore(database)
  const tenant = await makeTenant(store, 'acme')
  const pages = (count: number) => database.read(() => rows(`PRAGMA max_page_count = ${count}`))
  const commit = (id: string) =>
    store.commit(tenant, { change: putBlob(Buffer.alloc(500_000, id)), events: [sampleDraft(id)], seal: plainSeal })

  await pages(100)
  await assert.rejects(commit('a'), unavailable(/^sqlite 13$/, /disk is full/))
  await store.commit(tenant, { events: [sampleDraft('small')], seal: plainSeal })
  await pages(1_000_000)
  await commit('b')
  assert.deepEqual(
    (await allEvents(store, tenant)).map((event) => [event.sequence, event.eventId]),
    [
      [1, 'small'],
      [2, 'b'],
    ],
  )
  await store.close()
})

test('a writer that does not let go makes the store busy, and nothing is lost [F-14]', async () => {
  const database = openSqlite({ path })
  const store = await openStore(database)
  const tenant = await makeTenant(store, 'acme')
  await database.read(() => rows('PRAGMA busy_timeout = 10'))
  const commit = (id: string) => store.commit(tenant, { events: [sampleDraft(id)], seal: plainSeal })

  const stranger = new DatabaseSync(path)
  stranger.exec('BEGIN IMMEDIATE')
  assert.deepEqual(await codes([commit('a'), commit('b')]), ['store.busy', 'store.busy'])
  stranger.exec('ROLLBACK')
  stranger.close()
  await commit('c')
  assert.equal((await allEvents(store, tenant)).length, 1)
  await store.close()
})

test('the file and its companions are their owner’s alone [F-14]', async () => {
  const store = await openStore(openSqlite({ path }))
  await makeTenant(store, 'acme')
  const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777])
  assert.deepEqual(
    modes.sort(),
    ['store.db', 'store.db-shm', 'store.db-wal'].map((name) => [name, 0o600]),
  )
  await store.close()
  assert.deepEqual(readdirSync(folder), ['store.db'])
})

test('a read does not see what another connection commits between its statements [F-12]', async () => {
  const [one, two] = [openSqlite({ path }), openSqlite({ path })]
  await one.write(() => rows('CREATE TABLE things (id INTEGER)'))
  function* count(): Work<unknown> {
    return (yield* row('SELECT COUNT(*) AS n FROM things'))?.['n']
  }
  const writes: unknown[] = []
  const seen = await one.read(function* () {
    const counts: unknown[] = [yield* count()]
    for (const id of times(3, (index) => index)) {
      writes.push(two.write(() => rows(`INSERT INTO things VALUES (${id})`)))
      counts.push(yield* count())
    }
    return counts
  })
  await Promise.all(writes)
  assert.deepEqual(seen, [0, 0, 0, 0])
  assert.equal(await one.read(count), 3)
  await Promise.all([one.close(), two.close()])
})

const unavailable = (reason: RegExp, help: RegExp) => (error: Record<string, unknown>) => {
  assert.equal(error['code'], 'store.unavailable')
  assert.match(String((error['data'] as Record<string, unknown>)['reason']), reason)
  assert.match(String(error['help']), help)
  assert.equal(JSON.stringify([error['message'], error['data'], error['help']]).includes(folder), false)
  return true
}

async function opened(path: string): Promise<void> {
  const database = openSqlite({ path })
  try {
    await openStore(database)
  } finally {
    await database.close()
  }
}

/** Root may write everywhere, so it steps down for a moment. */
async function asOrdinaryUser(act: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65534)
  try {
    await act()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
