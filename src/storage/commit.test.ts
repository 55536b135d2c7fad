import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { EventDraft } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { allEvents, codes, times } from '../testing/storage/given.ts'
import { chainFlaws, makeTenant, plainSeal, sampleDraft, samplePrincipal } from '../testing/storage/sample.ts'
import { type Database, Duplicate } from './database.ts'
import { openSqlite } from './drivers/sqlite.ts'
import { principalRecords } from './identities.ts'
import { openStore, type Store } from './store.ts'
import type { Change, Work } from './work.ts'

describe('commits that wait together share a transaction [F-13]', () => {
  test('a hundred of them make one', async () => {
    const { store, tenant, transactions } = await counted()
    await Promise.all(times(100, (index) => commit(store, tenant, [`e-${index}`])))
    assert.equal(transactions(), 1)
    assert.equal((await allEvents(store, tenant)).length, 100)
  })

  test('those that come while one runs share the next', async () => {
    const { store, tenant, transactions } = await counted()
    const second: Promise<unknown>[] = []
    const late: Change = function* () {
      if (second.length === 0) second.push(...times(9, (index) => commit(store, tenant, [`late-${index}`])))
      return yield* principalRecords.list(tenant)
    }
    await store.commit(tenant, { change: late, events: [sampleDraft('first')], seal: plainSeal })
    await Promise.all(second)
    assert.equal(transactions(), 2)
  })

  test('a batch holds a bounded number of commits and of events', async () => {
    const { store, tenant, transactions } = await counted()
    const many = times(limits.commitsPerBatchMax * 2 + 1, (index) =>
      store.write(tenant, principalRecords.add(samplePrincipal(`p-${index}`))),
    )
    await Promise.all(many)
    assert.equal(transactions(), 3)

    const half = limits.eventsPerCommitMax / 2
    const large = times(3, (index) =>
      commit(
        store,
        tenant,
        times(half, (event) => `${index}-${event}`),
      ),
    )
    await Promise.all(large)
    assert.equal(transactions(), 5)
  })

  test('tenants of one lane share it too, each with its own sequence', async () => {
    const { store, tenant, other, transactions } = await counted()
    await Promise.all(times(20, (index) => commit(store, index % 2 === 0 ? tenant : other, [`e-${index}`])))
    assert.equal(transactions(), 1)
    for (const each of [tenant, other]) {
      const events = await allEvents(store, each)
      assert.equal(events.length, 10)
      assert.deepEqual(chainFlaws(events), [])
    }
  })
})

describe('a failure stays with its caller [F-13]', () => {
  const refused: Change = () => {
    throw new Failure('grant.invalid', 'refused for the test')
  }

  test('the batch is undone and each is tried by itself', async () => {
    const { store, tenant, transactions } = await counted()
    const answers = await codes([
      commit(store, tenant, ['a']),
      store.commit(tenant, { change: refused, events: [sampleDraft('b')], seal: plainSeal }),
      commit(store, tenant, ['c']),
    ])
    assert.deepEqual(answers, ['kept', 'grant.invalid', 'kept'])
    assert.equal(transactions(), 4)
    assert.deepEqual(
      (await allEvents(store, tenant)).map((event) => event.eventId),
      ['a', 'c'],
    )
  })

  test('a store that cannot be used fails all of them at once, and they are not tried again', async () => {
    let down = false
    const { store, tenant, transactions } = await counted((write) => {
      if (down) throw new Failure('store.unavailable', 'down for the test', { outcome: 'unknown' })
      return write()
    })
    down = true
    const answers = await codes(times(5, (index) => commit(store, tenant, [`e-${index}`])))
    assert.deepEqual(
      answers,
      times(5, () => 'store.unavailable'),
    )
    assert.equal(transactions(), 1)
    down = false
    await commit(store, tenant, ['after'])
    assert.equal((await allEvents(store, tenant)).length, 1)
  })

  test('a key that another process takes in between is seen by the second try', async () => {
    let tries = 0
    const { store, tenant } = await counted((write) => {
      if (++tries === 1) throw new Duplicate()
      return write()
    })
    await commit(store, tenant, ['a'])
    assert.equal(tries, 2)
  })
})

test('lanes run side by side: one that waits does not hold up another [F-13]', async () => {
  const gate = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  let held = false
  const { store, tenant, other } = await counted(async (write) => {
    if (held) return write()
    held = true
    started.resolve()
    await gate.promise
    return write()
  }, true)
  const order: string[] = []
  const slow = commit(store, tenant, ['slow']).then(() => order.push('slow'))
  await started.promise
  await commit(store, other, ['quick']).then(() => order.push('quick'))
  gate.resolve()
  await slow
  assert.deepEqual(order, ['quick', 'slow'])
})

const commit = (store: Store, tenant: TenantId, ids: readonly string[]): Promise<unknown> =>
  store.commit(tenant, { events: ids.map((id): EventDraft => sampleDraft(id)), seal: plainSeal })

/** A store in memory whose transactions are counted, and pass through `around` once its tenants are made. */
async function counted(
  around: (write: () => Promise<unknown>) => unknown = (write) => write(),
  lanePerTenant = false,
): Promise<{ store: Store; tenant: TenantId; other: TenantId; transactions: () => number }> {
  const inner = openSqlite({ path: ':memory:' })
  let ready = false
  let transactions = 0
  const database: Database = {
    ...inner,
    lane: lanePerTenant ? (tenant) => tenant : inner.lane,
    write: async <T>(work: () => Work<T>): Promise<T> => {
      if (!ready) return inner.write(work)
      transactions++
      return (await around(() => inner.write(work))) as T
    },
  }
  const store = await openStore(database)
  const [tenant, other] = [await makeTenant(store, 'acme'), await makeTenant(store, 'other')]
  ready = true
  return { store, tenant, other, transactions: () => transactions }
}
