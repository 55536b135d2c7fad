import assert from 'node:assert/strict'
import { formatTime } from '../../base/time.ts'
import type { EventDraft, SealedEvent } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { type EventFilter, eventsFrom, eventsOf, findEvents, getEvent } from '../../storage/tables/events.ts'
import { allEvents, allPages, type Given, type Register, type Setting, times } from './given.ts'
import { cursorOf } from './records.ts'
import { plainSeal, sampleDraft } from './sample.ts'

export function eventRules(test: Register, on: Setting): void {
  test('every combination of filters finds what a plain search finds, newest first [F-12]', on(filters))
  test('pages of events hold what was there at the first, once, while more is committed [F-12]', on(steadyPages))
  test('an event is found by its id, and a correlation is read in order from any place [F-12]', on(inOrder))
  test('a cursor that no page of events handed out is refused [F-12]', on(badCursors))
}

const choices = {
  correlation: ['cor_a', 'cor_b'],
  subject: ['alice', 'Alice'],
  capability: ['docs.read', 'docs.write'],
  outcome: ['success', 'denied'],
  type: ['started', 'ended'],
} as const

/** Forty events that mix all values of every column, none in step with another. */
const worldOf = (count: number): EventDraft[] =>
  times(count, (index) =>
    sampleDraft(`evt_${index}`, {
      correlation: { correlation_id: choices.correlation[index % 2] ?? '' },
      subject: index % 3 === 0 ? null : { id: choices.subject[index % 3 === 1 ? 0 : 1] },
      capability_id: choices.capability[Math.floor(index / 2) % 2] ?? '',
      outcome: index % 5 === 0 ? null : (choices.outcome[Math.floor(index / 5) % 2] ?? null),
      event_type: choices.type[Math.floor(index / 3) % 2] ?? '',
      timestamp: formatTime(1_000 * (index % 10)),
    }),
  )

function filtersOf(): EventFilter[] {
  let made: EventFilter[] = [{}, { since: formatTime(3_000) }, { until: formatTime(7_000) }]
  made.push({ since: formatTime(3_000), until: formatTime(7_000) })
  for (const [member, values] of Object.entries(choices)) {
    made = made.flatMap((filter) => [filter, ...values.map((value) => ({ ...filter, [member]: value }))])
  }
  return made
}

/** The plain search that filters are held against. */
export const passes = (event: SealedEvent, filter: EventFilter): boolean =>
  (filter.correlation ?? event.correlationId) === event.correlationId &&
  (filter.subject ?? event.subjectId) === event.subjectId &&
  (filter.capability ?? event.capabilityId) === event.capabilityId &&
  (filter.outcome ?? event.outcome) === event.outcome &&
  (filter.type ?? event.eventType) === event.eventType &&
  (filter.since ?? '') <= event.timestamp &&
  (filter.until ?? '~') > event.timestamp

async function filters({ store, tenant }: Given): Promise<void> {
  const { events } = await store.commit(tenant, { events: worldOf(40), seal: plainSeal })
  for (const filter of filtersOf()) {
    assert.deepEqual(
      (await store.read(() => findEvents(tenant, filter))).items,
      events.filter((event) => passes(event, filter)).reverse(),
      JSON.stringify(filter),
    )
  }
}

async function steadyPages({ store, second, tenant }: Given): Promise<void> {
  const { events } = await store.commit(tenant, { events: worldOf(30), seal: plainSeal })
  let turn = 0
  for (const filter of [{}, { correlation: 'cor_a', type: 'ended' }]) {
    const found = await allPages(store, (options) => findEvents(tenant, filter, options), {
      limit: 3,
      between: () => append(second, tenant, `more_${turn++}`),
    })
    assert.deepEqual(
      found.filter((event) => event.sequence <= events.length),
      events.filter((event) => passes(event, filter)).reverse(),
    )
    assert.equal(new Set(found.map((event) => event.sequence)).size, found.length)
  }
}

const append = (store: Store, tenant: TenantId, id: string): Promise<unknown> =>
  store.commit(tenant, {
    events: [sampleDraft(id, { correlation: { correlation_id: 'cor_a' }, event_type: 'ended' })],
    seal: plainSeal,
  })

async function inOrder({ store, tenant }: Given): Promise<void> {
  await store.commit(tenant, { events: worldOf(10), seal: plainSeal })
  const events = await allEvents(store, tenant)
  assert.deepEqual(await store.read(() => getEvent(tenant, 'evt_3')), events[3])
  await assert.rejects(
    store.read(() => getEvent(tenant, 'evt_99')),
    { code: 'event.not_found' },
  )
  const own = events.filter((event) => event.correlationId === 'cor_b')
  assert.deepEqual(await store.read(() => eventsOf(tenant, 'cor_b', 0, 100)), own)
  assert.deepEqual(await store.read(() => eventsOf(tenant, 'cor_b', 4, 2)), own.slice(2, 4))
  assert.deepEqual(await store.read(() => eventsFrom(tenant, 3, 4)), events.slice(3, 7))
}

async function badCursors({ store, tenant }: Given): Promise<void> {
  const numbers = ['[1.5]', '[1e400]', '[9007199254740993]'].map((text) => Buffer.from(text).toString('base64url'))
  for (const cursor of ['', 'x', cursorOf(['a']), cursorOf([null]), cursorOf([1, 2]), ...numbers]) {
    await assert.rejects(
      store.read(() => findEvents(tenant, {}, { cursor })),
      { code: 'cursor.invalid' },
      cursor,
    )
  }
}
