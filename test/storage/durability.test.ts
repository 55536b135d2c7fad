import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, test } from 'vitest'
import { startPostgres } from '../support/postgres.ts'
import { sweep } from '../support/sweep.ts'
import { type Child, childCommand, startChild } from './spawn.ts'
import { emptySchema, inspect, prepare, type Target, withStore } from './target.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-durability-'))
const server = await startPostgres({ own: true })
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

describe('a process killed while it writes loses nothing acknowledged and leaves nothing half written [F-14]', () => {
  test('in a SQLite file', async () => {
    await killAgainAndAgain({ driver: 'sqlite', path: join(folder, 'store.db') })
  })

  test.skipIf(server === undefined)('in PostgreSQL', async () => {
    await killAgainAndAgain({ driver: 'postgres', url: await emptySchema(server) })
  })
})

test.skipIf(server === undefined)('what was acknowledged is there after the server is killed [F-14]', async () => {
  const target: Target = { driver: 'postgres', url: await emptySchema(server) }
  await withStore(target, prepare)
  const child = await writing(target, 'x', 50)
  await server?.kill()
  assert.deepEqual(await child.ended, { code: 0, signal: null })
  await server?.restart()

  const { ids, flaws } = await withStore(target, inspect)
  assert.deepEqual(flaws, [])
  const refused = child.said.filter((line) => line.startsWith('refused '))
  const acknowledged = child.said.filter((line) => !line.startsWith('refused '))
  assert.deepEqual(missingFrom(ids, acknowledged), [])
  assert.equal(refused.length, 4)
  const undone = refused.filter((line) => line.startsWith('refused none ')).map((line) => line.slice(13))
  assert.deepEqual(missingFrom(ids, undone), undone)
})

async function killAgainAndAgain(target: Target): Promise<void> {
  await withStore(target, prepare)
  const acknowledged: string[] = []
  for (let turn = 0; turn < sweep(4, 12); turn++) {
    const child = await writing(target, `k${turn}`, 1 + Math.floor(Math.random() * 50))
    // Anywhere in what it does next.
    await sleep(Math.random() * 4)
    child.kill()
    assert.deepEqual(await child.ended, { code: null, signal: 'SIGKILL' })
    acknowledged.push(...child.said)

    const { ids, flaws } = await withStore(target, inspect)
    assert.deepEqual(flaws, [])
    assert.deepEqual(missingFrom(ids, acknowledged), [])
  }
}

/** A process that writes without end, once some of it was acknowledged. */
async function writing(target: Target, name: string, count: number): Promise<Child> {
  const child = startChild(childCommand(target, 'endless', name))
  await child.ready
  child.tell('go')
  while (child.said.length < count) await child.next()
  return child
}

const missingFrom = (ids: ReadonlySet<string>, wanted: readonly string[]): string[] =>
  wanted.filter((id) => !ids.has(id))
