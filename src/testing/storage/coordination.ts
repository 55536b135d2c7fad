import assert from 'node:assert/strict'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { amendHistory, dropExpiredHistories, historyOf } from '../../storage/tables/histories.ts'
import { principalRecords } from '../../storage/tables/identities.ts'
import { acquireLease, type Lease, releaseLease } from '../../storage/tables/leases.ts'
import { inOrder } from '../../storage/work.ts'
import { fakeClock } from '../ports.ts'
import { allEvents, codes, type Given, type Register, type Setting, times } from './given.ts'
import { addWithin, countOf, plainSeal, sampleDraft, samplePrincipal } from './sample.ts'

export function leaseRules(test: Register, on: Setting): void {
  test('of many who want a lease one holds it [F-12]', on(oneHolder))
  test('a lease is renewed by its holder, lapses, and its fence rises with each new holder [F-12]', on(fencing))
  test('a holder who comes late is refused, and nothing of its commit is kept [F-12]', on(lateHolder))
}

export function historyRules(test: Register, on: Setting): void {
  test('a history is changed one by one, however many do at once [F-12 H-98]', on(oneByOne))
  test('a history that begins, or begins anew, at two places at once loses neither [F-12 H-98]', on(begunTwice))
  test('a history is forgotten when its time is over, and only then [F-12 H-98]', on(forgotten))
}

export function counterRules(test: Register, on: Setting): void {
  test('a counter goes up to its limit and no further, exactly, however many add at once [F-12 H-39]', on(exactLimit))
  test('an addition that is refused says what is used, and leaves it so [F-12]', on(refusedAddition))
  test('a counter goes up with the commit it is part of, or not at all [F-13]', on(countedTogether))
}

const acquire = (store: Store, tenant: TenantId, holder: string, nowMs: number): Promise<Lease> =>
  store.write(tenant, acquireLease({ name: 'l', holder, ttlMs: 100 }, nowMs))

async function oneHolder({ store, second, tenant }: Given): Promise<void> {
  const answers = await codes(times(20, (index) => acquire(index % 2 === 0 ? store : second, tenant, `h-${index}`, 0)))
  assert.deepEqual(answers.toSorted(), ['kept', ...times(19, () => 'lease.taken')])
}

async function fencing({ store, tenant }: Given): Promise<void> {
  const clock = fakeClock(1000)
  const first = await acquire(store, tenant, 'a', clock.now())
  assert.deepEqual(first, { name: 'l', holder: 'a', fence: 1, expiresAtMs: 1100 })
  clock.advance(99)
  await assert.rejects(acquire(store, tenant, 'b', clock.now()), { code: 'lease.taken' })
  assert.equal((await acquire(store, tenant, 'a', clock.now())).fence, 1)

  clock.advance(100)
  const next = await acquire(store, tenant, 'a', clock.now())
  assert.equal(next.fence, 2, 'one who let it lapse is a new holder')
  await assert.rejects(store.write(tenant, releaseLease(first)), { code: 'lease.lost' })
  await store.write(tenant, releaseLease(next))
  assert.equal((await acquire(store, tenant, 'b', clock.now())).fence, 3)
}

async function lateHolder({ store, tenant }: Given): Promise<void> {
  const late = await acquire(store, tenant, 'a', 0)
  const present = await acquire(store, tenant, 'b', 100)
  await assert.rejects(store.write(tenant, releaseLease(late)), { code: 'lease.lost' })
  const commit = (lease: Lease, id: string) =>
    store.commit(tenant, {
      change: inOrder(principalRecords.add(samplePrincipal(id)), releaseLease(lease)),
      events: [sampleDraft(id)],
      seal: plainSeal,
    })
  assert.deepEqual(await codes([commit(late, 'late'), commit(present, 'present')]), ['lease.lost', 'kept'])
  assert.deepEqual(
    (await allEvents(store, tenant)).map((event) => event.eventId),
    ['present'],
  )
  assert.equal(await store.read(() => principalRecords.find(tenant, 'late')), undefined)
}

async function oneByOne({ store, second, tenant, other }: Given): Promise<void> {
  const add = (index: number) =>
    (index % 2 === 0 ? store : second).commit(tenant, {
      change: amendHistory({ key: 's', nowMs: 0, expiresAtMs: 9, next: (body = '') => `${body}.` }),
      events: [sampleDraft(`e-${index}`)],
      seal: plainSeal,
    })
  await Promise.all(times(40, add))
  assert.equal(await store.read(() => historyOf(tenant, 's', 0)), '.'.repeat(40))
  assert.equal(await store.read(() => historyOf(other, 's', 0)), undefined)
}

async function begunTwice({ store, second, tenant }: Given): Promise<void> {
  const amend = (to: Store, key: string, nowMs: number) =>
    to.write(tenant, amendHistory({ key, nowMs, expiresAtMs: nowMs + 9, next: (body = '') => `${body}.` }))
  for (const nowMs of [0, 10])
    for (let turn = 0; turn < 50; turn++) {
      await Promise.all([store, second].map((to) => amend(to, `s-${turn}`, nowMs)))
      assert.equal(await store.read(() => historyOf(tenant, `s-${turn}`, nowMs)), '..')
    }
}

async function forgotten({ store, tenant, other }: Given): Promise<void> {
  const put = (key: string, nowMs: number, expiresAtMs: number, of = tenant) =>
    store.write(of, amendHistory({ key, nowMs, expiresAtMs, next: (body = '') => `${body}.` }))
  const at = (key: string, nowMs: number) => store.read(() => historyOf(tenant, key, nowMs))
  await put('a', 0, 10)
  await put('a', 5, 8)
  await put('b', 0, 20)
  await put('b', 0, 20, other)
  assert.deepEqual([await at('a', 9), await at('a', 10), await at('b', 10)], ['..', undefined, '.'])
  await put('a', 10, 15)
  assert.equal(await at('a', 14), '.', 'what is over is no beginning')
  assert.deepEqual(await store.write(tenant, dropExpiredHistories(30, 1)), 1)
  assert.deepEqual([await at('a', 0), await at('b', 0)], [undefined, '.'])
  assert.deepEqual(await store.write(tenant, dropExpiredHistories(30, 9)), 1)
  assert.equal(await store.write(tenant, dropExpiredHistories(30, 9)), 0)
  assert.equal(await store.read(() => historyOf(other, 'b', 0)), '.')
}

const one = { scope: 's', key: 'k', amount: 1, max: 7 }

async function exactLimit({ store, second, tenant }: Given): Promise<void> {
  const add = (index: number) => (index % 2 === 0 ? store : second).write(tenant, addWithin(one))
  const answers = await Promise.allSettled(times(40, add))
  const values = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.calls] : []))
  assert.deepEqual(values.toSorted(), [1, 2, 3, 4, 5, 6, 7])
  assert.equal(await store.read(() => countOf(tenant, 's', 'k')), 7)
  assert.deepEqual(
    await codes(times(2, add)),
    times(2, () => 'budget.exceeded'),
  )
}

async function refusedAddition({ store, tenant }: Given): Promise<void> {
  const add = async (amount: number, max: number) =>
    (await store.write(tenant, addWithin({ ...one, amount, max }))).calls
  const used = () => store.read(() => countOf(tenant, 's', 'k'))
  const exceeded = (calls: number) => ({
    code: 'budget.exceeded',
    data: { used: { calls, time_ms: 0, cost: 0, bytes: 0 } },
  })
  await assert.rejects(add(6, 5), { code: 'budget.exceeded', data: { used: {} } })
  assert.equal(await used(), 0)
  assert.deepEqual([await add(0, 0), await add(5, 5), await add(0, 5)], [0, 5, 5])
  await assert.rejects(add(1, 5), exceeded(5))
  await assert.rejects(add(0, 4), exceeded(5))
  const rest = Number.MAX_SAFE_INTEGER - 5
  assert.equal(await add(rest, Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
  await assert.rejects(add(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER), exceeded(Number.MAX_SAFE_INTEGER))
  for (const amount of [-1, 0.5, Number.NaN, 2 ** 53]) await assert.rejects(add(amount, 2 ** 52))
  assert.equal(await used(), Number.MAX_SAFE_INTEGER)
  assert.equal(await store.read(() => countOf(tenant, 'S', 'k')), 0)
}

async function countedTogether({ store, tenant }: Given): Promise<void> {
  const commit = (index: number) =>
    store.commit(tenant, {
      change: inOrder(principalRecords.add(samplePrincipal(`p-${index}`)), addWithin(one)),
      events: [sampleDraft(`e-${index}`)],
      seal: plainSeal,
    })
  const answers = await codes(times(20, commit))
  const kept = times(20, (index) => index).filter((index) => answers[index] === 'kept')
  assert.equal(kept.length, one.max)
  assert.deepEqual(
    (await allEvents(store, tenant)).map((event) => event.eventId).sort(),
    kept.map((n) => `e-${n}`).sort(),
  )
  const { items } = await store.read(() => principalRecords.list(tenant))
  assert.deepEqual(items.map((record) => record.principal_id).sort(), kept.map((n) => `p-${n}`).sort())
}
