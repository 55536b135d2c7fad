import assert from 'node:assert/strict'
import fc from 'fast-check'
import { afterAll, describe, test } from 'vitest'
import { emptySchema } from '../../../test/storage/target.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { formatTime } from '../../base/time.ts'
import type { EventDraft, SealedEvent } from '../../model/evidence.ts'
import { passes } from '../../testing/storage/events.ts'
import { allPages, times } from '../../testing/storage/given.ts'
import { makeTenant, plainSeal, sampleDraft } from '../../testing/storage/sample.ts'
import type { Database } from '../database.ts'
import { openPostgres } from '../drivers/postgres.ts'
import { openSqlite } from '../drivers/sqlite.ts'
import { openStore } from '../store.ts'
import { rows, text, type Work } from '../work.ts'
import { type EventFilter, findEvents } from './events.ts'

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

describe('every filter by itself is answered from an index, page by page [F-12]', () => {
  const byPlace = /events USING INDEX sqlite_autoindex_events_1 \(tenant_id=\? AND sequence<\?\)/
  const inStretch = /events USING INDEX sqlite_autoindex_events_1 \(tenant_id=\? AND sequence>\? AND sequence<\?\)/
  const byTime = (sign: string) =>
    new RegExp(
      `USING COVERING INDEX sqlite_autoindex_event_sections_1 \\(tenant_id=\\? AND field=\\? AND value${sign}\\?\\)`,
    )
  const bySection =
    /SEARCH s USING COVERING INDEX sqlite_autoindex_event_sections_1 \(tenant_id=\? AND field=\? AND value=\? AND section>\? AND section<\?\)/
  const by = (column: string) =>
    new RegExp(`\\(tenant_id=\\? AND ${column}=\\? AND sequence(>\\? AND sequence)?<\\?\\)`)
  const indexed: readonly [EventFilter, ...RegExp[]][] = [
    [{}, byPlace],
    [{ correlation: 'a' }, by('correlation_id')],
    [{ subject: 'a' }, bySection, inStretch],
    [{ capability: 'a' }, bySection, inStretch],
    [{ outcome: 'denied' }, bySection, inStretch],
    [{ type: 'a' }, bySection, inStretch],
    [{ since: formatTime(5000) }, byTime('<'), inStretch],
    [{ until: formatTime(5000) }, byTime('>'), byPlace],
    [{ since: formatTime(5000), correlation: 'a' }, by('correlation_id')],
    [{ since: formatTime(5000), subject: 'a' }, byTime('<'), bySection, inStretch],
    [{ since: formatTime(5000), capability: 'a' }, byTime('<'), bySection, inStretch],
    [{ since: formatTime(5000), outcome: 'denied' }, byTime('<'), bySection, inStretch],
    [{ since: formatTime(5000), type: 'a' }, byTime('<'), bySection, inStretch],
  ]
  test.each(indexed)('%j', async (filter, ...expected) => {
    const store = await openStore(openSqlite({ path: ':memory:' }))
    const tenant = await makeTenant(store, 'acme')
    await store.commit(tenant, { events: eachSecond('e', 10, 0), seal: plainSeal })
    const plans = await store.read(() => plansOf(findEvents(tenant, filter)))
    for (const plan of expected) assert.match(plans.join('\n'), plan)
    assert.doesNotMatch(plans.join('\n'), /SCAN|TEMP B-TREE/)
    await store.close()
  })
})

test('a search by time looks at the events of that time alone, unless the clock stepped back [F-12]', async () => {
  const store = await openStore(openSqlite({ path: ':memory:' }))
  const tenant = await makeTenant(store, 'acme')
  const commit = (name: string, startMs: number) =>
    store.commit(tenant, { events: eachSecond(name, 100, startMs), seal: plainSeal })
  const filter = { since: formatTime(40_000), until: formatTime(50_000) }
  const looked = () => store.read(() => lastParamsOf(findEvents(tenant, filter)))
  await commit('a', 0)
  assert.deepEqual((await looked()).slice(1, 3), [65, 1])
  await commit('b', 98_000)
  assert.deepEqual((await looked()).slice(1, 3), [65, 1])
  await commit('c', 0)
  assert.deepEqual((await looked()).slice(1, 3), [Number.MAX_SAFE_INTEGER, filter.since])
  assert.equal((await store.read(() => findEvents(tenant, filter))).items.length, 20)
  await store.close()
})

const eachSecond = (name: string, count: number, startMs: number): EventDraft[] =>
  times(count, (index) => sampleDraft(`${name}-${index}`, { timestamp: formatTime(startMs + index * 1000) }))

test('times of another form, or out of all bounds, are searched as text like any other [F-12]', async () => {
  const store = await openStore(openSqlite({ path: ':memory:' }))
  const odd = ['9999-12-31T23:59:59.999Z', '0000-01-01T00:00:00.000Z', '2026-01-01T00:00:00+05:00', 'never', '']
  const all = [...odd, formatTime(0), formatTime(1_000), '2025-12-31T20:00:00.000Z']
  for (const [index, timestamps] of [all, all.toReversed(), all.toSorted()].entries()) {
    const tenant = await makeTenant(store, `t-${index}`)
    const drafts = timestamps.map((timestamp, place) => sampleDraft(`e-${place}`, { timestamp }))
    const { events } = await store.commit(tenant, { events: drafts, seal: plainSeal })
    for (const filter of all.flatMap((time) => [{ since: time }, { until: time }])) {
      const { items } = await store.read(() => findEvents(tenant, filter))
      const expected = events.filter(
        ({ timestamp }) => timestamp >= (filter.since ?? '') && timestamp < (filter.until ?? '~'),
      )
      assert.deepEqual(items, expected.reverse(), JSON.stringify(filter))
    }
  }
  await store.close()
})

/** How SQLite would answer each statement of the work. */
function* plansOf(work: Work<unknown>): Work<string[]> {
  const plans: string[] = []
  for (let step = work.next(); !step.done; step = work.next(yield step.value)) {
    for (const statement of step.value) {
      assert('sql' in statement)
      const plan = yield* rows(`EXPLAIN QUERY PLAN ${statement.sql}`, ...statement.params)
      plans.push(...plan.map((line) => text(line, 'detail')))
    }
  }
  return plans
}

/** The parameters of the last statement of the work. */
function* lastParamsOf(work: Work<unknown>): Work<readonly unknown[]> {
  let params: readonly unknown[] = []
  for (let step = work.next(); !step.done; step = work.next(yield step.value)) {
    const statement = step.value.at(-1)
    assert(statement !== undefined && 'sql' in statement)
    params = statement.params
  }
  return params
}

const name = fc.constantFrom('a', 'A', 'é', "'", 'b')
const time = fc.integer({ min: 0, max: 12 }).map((seconds) => formatTime(seconds * 500))

const anyDraft = fc.record({
  correlation: fc.record({ correlation_id: name }),
  subject: fc.option(fc.record({ id: name })),
  capability_id: name,
  outcome: fc.constantFrom('success', 'denied', null),
  event_type: name,
  // Behind a clock that runs: now and then an event is earlier than the one before it.
  behindMs: fc.constantFrom(0, 0, 0, 500, 1500),
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
  // The second knows no more of what the first has written than another process would.
  const [store, second] = [await openStore(database), await openStore(database)]
  let tenants = 0
  const world = fc.array(anyDraft, { minLength: 1, maxLength: 200, size: 'max' })
  const questions = fc.array(fc.tuple(anyFilter, fc.integer({ min: 1, max: 80 })), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(world, questions, async (drafts, asked) => {
      const tenant = await makeTenant(store, `t-${tenants++}`)
      const made = drafts.map(({ behindMs, ...draft }, index) =>
        sampleDraft(`e-${index}`, { ...draft, timestamp: formatTime(2000 + index * 200 - behindMs) }),
      )
      const third = Math.ceil(made.length / 3)
      const events: SealedEvent[] = []
      for (const [index, to] of [store, second, store].entries()) {
        const part = made.slice(index * third, (index + 1) * third)
        events.push(...(await to.commit(tenant, { events: part, seal: plainSeal })).events)
      }
      for (const [filter, limit] of asked) {
        const found = await allPages(store, (options) => findEvents(tenant, filter, options), { limit })
        assert.deepEqual(found, events.filter((event) => passes(event, filter)).reverse())
      }
    }),
    { numRuns },
  )
  await store.close()
}
