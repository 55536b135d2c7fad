import assert from 'node:assert/strict'
import { Failure } from '../../base/failure.ts'
import type { Seal } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Commit, Store } from '../../storage/store.ts'
import { findEvents, lastSequence } from '../../storage/tables/events.ts'
import { principalRecords } from '../../storage/tables/identities.ts'
import { type Change, inOrder } from '../../storage/work.ts'
import { allEvents, allPages, codes, type Given, type Register, type Setting, times } from './given.ts'
import { chainFlaws, type PlainBody, plainSeal, sampleDraft, samplePrincipal } from './sample.ts'

export function commitRules(test: Register, on: Setting): void {
  test('fifty commits at once, some of them failing: no gap, no trace of the failed, the order kept [F-13]', on(mixed))
  test('two openings of one store share one sequence without gaps [F-13]', on(shared))
  test('two openings that write by turns, once or in bursts, share one chain [F-13]', on(turns))
  test('a change that fails keeps no event, and a seal that fails keeps no state [F-13]', on(together))
  test('a used event id is refused, with the state that came with it [F-13]', on(conflict))
  test('events link to the last of their correlation, within a commit and across commits [F-13]', on(linked))
  test('a seal that skips, repeats or leaves out a place is refused [F-13]', on(badSeal))
  test('a commit answers with the value of its change and its events as stored [F-13]', on(answers))
}

const refusal = new Failure('field.invalid', 'refused for the test')
const refuse: Change = () => {
  throw refusal
}
const refusingSeal: Seal = () => {
  throw refusal
}

const add = (id: string): Change<void> => principalRecords.add(samplePrincipal(id))

/** One of five kinds of commit; the last two are good. */
function commitOf(index: number): Commit<unknown> {
  const id = `evt_${index}`
  const correlation = { correlation_id: `cor_${index % 7}` }
  const events = [sampleDraft(id, { correlation }), sampleDraft(`${id}_more`, { correlation })]
  const kinds: readonly Commit<unknown>[] = [
    { change: inOrder(refuse, add(id)), events, seal: plainSeal },
    { change: inOrder(add(id), refuse), events, seal: plainSeal },
    { change: add(id), events, seal: refusingSeal },
    { change: add(id), events, seal: plainSeal },
    { change: add(id), events: events.slice(1), seal: plainSeal },
  ]
  return kinds[index % kinds.length] ?? { events: [], seal: plainSeal }
}

const isGood = (index: number): boolean => index % 5 > 2

async function mixed({ store, tenant }: Given): Promise<void> {
  const answers = await codes(times(50, (index) => store.commit(tenant, commitOf(index))))
  assert.deepEqual(
    answers,
    times(50, (index) => (isGood(index) ? 'kept' : 'field.invalid')),
  )
  const good = times(50, (index) => index).filter(isGood)
  const events = await allEvents(store, tenant)
  assert.deepEqual(chainFlaws(events), [])
  assert.deepEqual(
    events.map((event) => event.eventId),
    good.flatMap((index) => commitOf(index).events.map((draft) => draft.event_id)),
  )
  const principals = await principalIds(store, tenant)
  assert.deepEqual(principals, good.map((index) => `evt_${index}`).sort())
  assert.equal(await store.read(() => lastSequence(tenant)), events.length)
}

async function shared({ store, second, tenant }: Given): Promise<void> {
  const answers = await codes(times(60, (index) => (index % 2 === 0 ? store : second).commit(tenant, commitOf(index))))
  assert.deepEqual(
    answers,
    times(60, (index) => (isGood(index) ? 'kept' : 'field.invalid')),
  )
  const events = await allEvents(store, tenant)
  assert.deepEqual(chainFlaws(events), [])
  assert.equal(events.length, 36)
}

async function turns({ store, second, tenant }: Given): Promise<void> {
  let count = 0
  for (const burst of [1, 1, 2, 5, 1, 3, 1, 1, 4, 4]) {
    for (const to of [store, second]) {
      for (let left = burst; left > 0; left--) {
        const correlation = { correlation_id: `cor_${count % 3}` }
        await to.commit(tenant, { events: [sampleDraft(`e-${count++}`, { correlation })], seal: plainSeal })
      }
    }
  }
  const events = await allEvents(store, tenant)
  assert.deepEqual(chainFlaws(events), [])
  assert.equal(events.length, count)
}

async function together({ store, tenant }: Given): Promise<void> {
  for (const index of [0, 1, 2]) {
    await assert.rejects(store.commit(tenant, commitOf(index)), { code: 'field.invalid' })
    await assert.rejects(store.write(tenant, inOrder(add('p'), refuse)), { code: 'field.invalid' })
  }
  assert.deepEqual(await store.read(() => findEvents(tenant, {})), { items: [] })
  assert.equal(await store.read(() => lastSequence(tenant)), 0)
  assert.deepEqual(await principalIds(store, tenant), [])
}

async function conflict({ store, second, tenant, other }: Given): Promise<void> {
  const commit = (to: Store, index: number) =>
    to.commit(tenant, { change: add(`p-${index}`), events: [sampleDraft('evt_1')], seal: plainSeal })
  const first = await codes(times(6, (index) => commit(index % 2 === 0 ? store : second, index)))
  assert.deepEqual(first.toSorted(), [...times(5, () => 'event.conflict'), 'kept'])
  assert.deepEqual(await codes([commit(store, 6)]), ['event.conflict'])
  const twice = { events: [sampleDraft('evt_2'), sampleDraft('evt_2')], seal: plainSeal }
  assert.deepEqual(await codes([store.commit(tenant, twice)]), ['event.conflict'])

  assert.deepEqual(await principalIds(store, tenant), [`p-${first.indexOf('kept')}`])
  assert.equal((await allEvents(store, tenant)).length, 1)
  await store.commit(other, { events: [sampleDraft('evt_1')], seal: plainSeal })
}

async function linked({ store, tenant }: Given): Promise<void> {
  const drafts = (from: number, ...correlations: string[]) =>
    correlations.map((correlation_id, index) => sampleDraft(`evt_${from + index}`, { correlation: { correlation_id } }))
  const commit = (from: number, ...correlations: string[]) =>
    store.commit(tenant, { events: drafts(from, ...correlations), seal: plainSeal })
  await commit(1, 'a', 'b', 'a')
  await Promise.all([commit(4, 'b', 'c', 'b'), commit(7, 'a', 'c')])
  const events = await allEvents(store, tenant)
  assert.deepEqual(chainFlaws(events), [])
  const hashes = new Map(events.map((event) => [event.contentHash, event.eventId]))
  const links = events.map((event) => hashes.get((JSON.parse(event.body) as PlainBody).prev ?? '') ?? null)
  assert.deepEqual(links, [null, null, 'evt_1', 'evt_2', null, 'evt_4', 'evt_3', 'evt_5'])
}

async function badSeal({ store, tenant }: Given): Promise<void> {
  const seals: readonly Seal[] = [
    (drafts, at) => plainSeal(drafts, { ...at, sequence: at.sequence + 1 }),
    (drafts, at) => plainSeal(drafts, { ...at, sequence: at.sequence - 1 }),
    (drafts, at) => plainSeal(drafts.slice(1), at),
    () => [],
  ]
  for (const seal of seals) {
    await assert.rejects(store.commit(tenant, { change: add('p'), events: [sampleDraft('a'), sampleDraft('b')], seal }))
  }
  assert.deepEqual(await allEvents(store, tenant), [])
  assert.deepEqual(await principalIds(store, tenant), [])
}

async function answers({ store, tenant }: Given): Promise<void> {
  await store.write(tenant, add('p'))
  const change = principalRecords.amend('p', (record) => ({ ...record, display: 'P' }))
  const done = await store.commit(tenant, { change, events: [sampleDraft('a'), sampleDraft('b')], seal: plainSeal })
  assert.deepEqual(done.value, samplePrincipal('p', 'P'))
  assert.deepEqual(done.events, await allEvents(store, tenant))
  const empty = await store.commit(tenant, { change, events: [], seal: plainSeal })
  assert.deepEqual(empty, { value: samplePrincipal('p', 'P'), events: [] })
}

const principalIds = async (store: Store, tenant: TenantId): Promise<string[]> =>
  (await allPages(store, (options) => principalRecords.list(tenant, options))).map((record) => record.principal_id)
