import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { schemaVersion, versionOf } from '../../src/storage/schema.ts'
import { addClaim, runningClaims } from '../../src/storage/tables/claims.ts'
import { countOf, sampleClaim } from '../../src/testing/storage/sample.ts'
import { startPostgres } from '../support/postgres.ts'
import { withChildren } from './spawn.ts'
import { emptySchema, inspect, openTarget, prepare, type Target, tenant, withStore } from './target.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-processes-'))
const server = await startPostgres({ fsync: false })
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

let files = 0

const keys = Array.from({ length: 50 }, (_, index) => `key-${index}`)

describe('four processes on one SQLite file [F-12 F-13 F-15]', () => {
  fourProcesses(async () => ({ driver: 'sqlite', path: join(folder, `${files++}.db`) }), 20)
})

describe.skipIf(server === undefined)('four processes on one PostgreSQL database [F-12 F-13 F-15]', () => {
  fourProcesses(async () => ({ driver: 'postgres', url: await emptySchema(server) }), 10)
})

function fourProcesses(empty: () => Promise<Target>, turns: number): void {
  test.each(['claims', 'leases'])('of %s, each is won by exactly one', async (task) => {
    const target = await empty()
    await withStore(target, prepare)
    const won = await allSaid(target, task)
    assert.deepEqual(won.sort(), keys.toSorted())
  })

  test('of waiting claims, each is resumed by exactly one', async () => {
    const target = await empty()
    await withStore(target, async (store) => {
      await prepare(store)
      const waiting = { state: 'waiting', result: '1', expiresAtMs: null } as const
      for (const key of keys) await store.write(tenant, addClaim({ ...sampleClaim(key), ...waiting }, 0))
    })
    assert.deepEqual((await allSaid(target, 'resumed')).sort(), keys.toSorted())
    const { items } = await withStore(target, (store) => store.read(() => runningClaims(tenant, 's')))
    assert.equal(items.length, keys.length)
  })

  test('a counter reaches its limit by every step once, and not one step more [H-39]', async () => {
    const target = await empty()
    await withStore(target, prepare)
    const values = (await allSaid(target, 'counters')).map(Number).sort((a, b) => a - b)
    const steps = Array.from({ length: 333 }, (_, index) => (index + 1) * 3)
    assert.deepEqual(values, steps)
    assert.equal(await withStore(target, (store) => store.read(() => countOf(tenant, 's', 'k'))), 999)
  })

  test('two hundred commits each make one sequence without gaps and whole chains', async () => {
    const target = await empty()
    await withStore(target, prepare)
    const said = await allSaid(target, 'commits')
    const { ids, flaws } = await withStore(target, inspect)
    assert.deepEqual(flaws, [])
    assert.deepEqual([...ids].sort(), said.sort())
    assert.equal(ids.size, 800)
  })

  test('an empty database that all of them open at once is made ready once', async () => {
    await withChildren(await empty(), 'open', async (children) => {
      for (let turn = 0; turn < turns; turn++) {
        const target = await empty()
        const answers = children.map((child) => child.next())
        const atMs = Date.now() + 10
        for (const child of children) child.tell(JSON.stringify({ target, atMs }))
        assert.deepEqual(await Promise.all(answers), ['opened', 'opened', 'opened', 'opened'])
        const database = openTarget(target)
        assert.equal(await versionOf(database), schemaVersion)
        await database.close()
      }
    })
  })
}

/** What four processes said that began together and did their task to the end. */
const allSaid = (target: Target, task: string): Promise<string[]> =>
  withChildren(target, task, async (children) => {
    for (const child of children) child.tell('go')
    const ends = await Promise.all(children.map((child) => child.ended))
    assert.deepEqual(
      ends,
      children.map(() => ({ code: 0, signal: null })),
    )
    return children.flatMap((child) => child.said)
  })
