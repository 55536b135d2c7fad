import assert from 'node:assert/strict'
import fc from 'fast-check'
import { afterAll, test } from 'vitest'
import { emptySchema } from '../../test/storage/target.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { formatTime } from '../base/time.ts'
import { passes } from '../testing/storage/events.ts'
import { allPages } from '../testing/storage/given.ts'
import { makeTenant, plainSeal, sampleDraft } from '../testing/storage/sample.ts'
import type { Database } from './database.ts'
import { openPostgres } from './drivers/postgres.ts'
import { openSqlite } from './drivers/sqlite.ts'
import { findEvents } from './events.ts'
import { openStore } from './store.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

test('random filters find on SQLite what a plain search finds, page by page [F-12]', async () => {
  await agree(openSqlite({ path: ':memory:' }), 100)
})

test.skipIf(server === undefined)(
  'random filters find on PostgreSQL what a plain search finds, page by page [F-12]',
  async () => {
    await agree(openPostgres({ url: await emptySchema(server) }), 40)
  },
)

const name = fc.constantFrom('a', 'A', 'é', "'", 'b')
const time = fc.integer({ min: 0, max: 5 }).map((seconds) => formatTime(seconds * 1000))

const anyDraft = fc.record({
  correlation: fc.record({ correlation_id: name }),
  subject: fc.option(fc.record({ id: name })),
  capability_id: name,
  outcome: fc.constantFrom('success', 'denied', null),
  event_type: name,
  timestamp: time,
})

const anyFilter = fc.record(
  {
    correlation: name,
    subject: name,
    capability: name,
    outcome: fc.constantFrom('success', 'denied', 'skipped'),
    type: name,
    since: time,
    until: time,
  },
  { requiredKeys: [] },
)

async function agree(database: Database, numRuns: number): Promise<void> {
  const store = await openStore(database)
  let tenants = 0
  const world = fc.array(anyDraft, { minLength: 1, maxLength: 30 })
  const questions = fc.array(fc.tuple(anyFilter, fc.integer({ min: 1, max: 8 })), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(world, questions, async (drafts, asked) => {
      const tenant = await makeTenant(store, `t-${tenants++}`)
      const { events } = await store.commit(tenant, {
        events: drafts.map((draft, index) => sampleDraft(`e-${index}`, draft)),
        seal: plainSeal,
      })
      for (const [filter, limit] of asked) {
        const found = await allPages(store, (options) => findEvents(tenant, filter, options), { limit })
        assert.deepEqual(found, events.filter((event) => passes(event, filter)).reverse())
      }
    }),
    { numRuns },
  )
  await store.close()
}
