import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, test } from 'vitest'
import { auditTenant } from '../../src/runtime/evidence/audit.ts'
import { purgeEvidence } from '../../src/runtime/evidence/purge.ts'
import { record } from '../../src/runtime/evidence/record.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { openAmbit } from '../../src/runtime/runtime.ts'
import { rows } from '../../src/storage/work.ts'
import { startChild } from '../storage/spawn.ts'
import { emptySchema, type Target } from '../storage/target.ts'
import { startPostgres } from '../support/postgres.ts'
import { makeWorld, tenant } from './world.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-purge-'))
const server = await startPostgres({ fsync: false })
let worlds = 0
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

describe('on one SQLite file [H-63]', () => killed(async (path) => ({ driver: 'sqlite', path })))
describe.skipIf(server === undefined)('on one PostgreSQL database [H-63]', () =>
  killed(async () => ({ driver: 'postgres', url: await emptySchema(server) })),
)

const correlations = 250
const eventsEach = 3

function killed(target: (path: string) => Promise<Target>): void {
  test.each([
    ['before', 'before a transaction', 100],
    ['inside', 'in a transaction that has deleted everything', 100],
    ['after', 'after a transaction', 200],
    ['random', 'at any moment', undefined],
  ])(
    'a process that is killed while it purges (%s) leaves each correlation whole or gone',
    async (point, _, purged) => {
      const own = await given(target)
      const child = startChild([process.execPath, join(import.meta.dirname, 'purge-child.ts'), own, point])
      await child.ready
      child.tell('go')
      if (point === 'random') {
        await sleep(Math.random() * 150)
        child.kill()
      }
      const { signal } = await child.ended
      if (point !== 'random') assert.equal(signal, 'SIGKILL')

      const ambit = await openAmbit({ folder: own, env: {} })
      try {
        const left = await ambit.database.read(() =>
          rows("SELECT COUNT(*) AS n FROM events WHERE correlation_id LIKE 'task-%' GROUP BY correlation_id"),
        )
        assert.deepEqual(new Set(left.map(({ n }) => Number(n))), new Set(left.length > 0 ? [eventsEach] : []))
        if (purged !== undefined) assert.equal(left.length, correlations - purged)
        assert.equal((await auditTenant(ambit, tenant, () => undefined)).ok, true)
        const rest = await purgeEvidence(ambit, operator(tenant), { before: '9999-12-31T00:00:00.000Z' })
        assert.equal(rest.correlations, left.length)
        assert.equal((await auditTenant(ambit, tenant, () => undefined)).ok, true)
      } finally {
        await ambit.close()
      }
    },
  )
}

async function given(target: (path: string) => Promise<Target>): Promise<string> {
  const own = join(folder, `world-${worlds++}`)
  await makeWorld(own, await target(join(folder, `${worlds}.db`)), '')
  const ambit = await openAmbit({ folder: own, env: {} })
  for (let round = 0; round < eventsEach; round++) {
    const inputs = Array.from({ length: correlations }, (_, index) => ({
      event_type: 'noted',
      payload: {},
      correlation: { correlation_id: `task-${index}` },
    }))
    await record(ambit, operator(tenant), inputs)
  }
  await ambit.close()
  return own
}
