import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { schemaVersion, versionOf } from '../../src/storage/schema.ts'
import { startPostgres } from '../support/postgres.ts'
import { withChildren } from './spawn.ts'
import { emptySchema, inspect, openTarget, prepare, type Target, withStore } from './target.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-processes-'))
const server = await startPostgres({ fsync: false })
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

let files = 0

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
    assert.deepEqual(won.sort(), Array.from({ length: 50 }, (_, index) => `key-${index}`).sort())
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
