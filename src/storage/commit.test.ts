import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, onTestFinished, test } from 'vitest'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { EventDraft } from '../model/evidence.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { allEvents, codes, times } from '../testing/storage/given.ts'
import { chainFlaws, makeTenant, plainSeal, sampleDraft, samplePrincipal } from '../testing/storage/sample.ts'
import { type Database, Duplicate } from './database.ts'
import { openSqlite } from './drivers/sqlite.ts'
import { openStore, type Store } from './store.ts'
import { principalRecords } from './tables/identities.ts'
import { type Change, rows, type Work } from './work.ts'

describe('commits that wait together share a transaction [F-13]', () => {
  test('of a hundred, the first goes at once and the others make one', async () => {
    const { store, tenant, transactions } = await counted()
    await Promise.all(times(100, (index) => commit(store, tenant, [`e-${index}`])))
    assert.equal(transactions(), 2)
    assert.equal((await allEvents(store, tenant)).length, 100)
  })

  test('where they come together again and again, all of them make one', async () => {
    const { store, tenant, transactions } = await counted()
    const round = (name: string) => Promise.all(times(16, (index) => commit(store, tenant, [`${name}-${index}`])))
    for (const name of ['a', 'b', 'c']) await round(name)
    assert.equal(transactions(), 2 + 1 + 1)
  })

  test('those of independent callers share one too, though each comes in a callback of its own', async () => {
    const { store, tenant, transactions } = await counted()
    const socket = () => new Promise<void>((resolve) => setTimeout(resolve, 1))
    const client = async (name: number): Promise<void> => {
      for (const turn of times(20, (index) => index)) {
        await socket()
        await commit(store, tenant, [`${name}-${turn}`])
      }
    }
    await Promise.all(times(16, client))
    assert.equal((await allEvents(store, tenant)).length, 320)
    assert(transactions() < 160, `${transactions()} transactions`)
  })

  test('one that always comes alone waits less and less often, and everything else still gets its turn', async () => {
    const { store, tenant, transactions } = await counted()
    let turns = 0
    let running = true
    const count = (): void => {
      turns++
      if (running) setImmediate(count)
    }
    count()
    for (const index of times(160, (index) => index)) await commit(store, tenant, [`e-${index}`])
    running = false
    assert.equal(transactions(), 160)
    assert(turns >= 9 && turns <= 40, `${turns} turns`)
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
    assert.equal(transactions(), 2)
    for (const each of [tenant, other]) {
      const events = await allEvents(store, each)
      assert.equal(events.length, 10)
      assert.deepEqual(chainFlaws(events), [])
    }
  })
})

describe('a failure stays with its caller [F-13]', () => {
  const refused: Change = () => {
    throw new Failure('field.invalid', 'refused for the test')
  }

  test('the batch is undone, and what came before and after it is tried again without it', async () => {
    const { store, tenant, transactions } = await counted()
    const answers = await codes([
      commit(store, tenant, ['first']),
      commit(store, tenant, ['a']),
      store.commit(tenant, { change: refused, events: [sampleDraft('b')], seal: plainSeal }),
      commit(store, tenant, ['c']),
    ])
    assert.deepEqual(answers, ['kept', 'kept', 'field.invalid', 'kept'])
    assert.equal(transactions(), 1 + 4)
    assert.deepEqual(
      (await allEvents(store, tenant)).map((event) => event.eventId),
      ['first', 'a', 'c'],
    )
  })

  test.each([
    ['one refused change', [100], 5],
    ['the first refused', [0], 2],
    ['three refused', [20, 21, 150], 9],
    ['all refused', times(200, (index) => index), 200],
  ])('%s of 200 costs a few transactions more, and no other commit notices', async (_, bad, expected) => {
    const { store, tenant, transactions } = await counted()
    const change = (index: number) =>
      bad.includes(index) ? refused : principalRecords.add(samplePrincipal(`p-${index}`))
    const answers = await codes(times(200, (index) => store.write(tenant, change(index))))
    assert.deepEqual(
      answers,
      times(200, (index) => (bad.includes(index) ? 'field.invalid' : 'kept')),
    )
    assert.equal(transactions(), expected)
  })

  test('a used event id, of which the database does not say whose it is, is found by halving', async () => {
    const { store, tenant, transactions } = await counted()
    await commit(store, tenant, ['e-70'])
    const answers = await codes(times(128, (index) => commit(store, tenant, [`e-${index}`])))
    assert.deepEqual(
      answers,
      times(128, (index) => (index === 70 ? 'event.conflict' : 'kept')),
    )
    // One before, two for each of seven halvings, the whole batch, and the second try of the one that is left.
    assert.equal(transactions(), 1 + 2 * 7 + 1 + 1)
    const events = await allEvents(store, tenant)
    assert.deepEqual(chainFlaws(events), [])
    assert.equal(events.length, 128)
  })

  test('what one was refused for is gone when the one before it fails too', async () => {
    const { store, tenant } = await counted()
    const add = principalRecords.add(samplePrincipal('p'))
    const failing = (): never => {
      throw new Failure('field.invalid', 'refused for the test')
    }
    const answers = await codes([
      store.commit(tenant, { change: add, events: [sampleDraft('a')], seal: failing }),
      store.write(tenant, add),
      store.write(tenant, add),
    ])
    assert.deepEqual(answers, ['field.invalid', 'kept', 'principal.exists'])
  })

  test('a commit of too many events is refused, and so is a statement the database will not take', async () => {
    const { store, tenant } = await counted()
    const many = times(limits.eventsPerCommitMax + 1, (index) => `m-${index}`)
    const tooWide: Change = () => rows(`SELECT ${times(40_000, () => '?').join(', ')}`)
    const answers = await Promise.allSettled([
      commit(store, tenant, ['a']),
      commit(store, tenant, many),
      store.write(tenant, tooWide),
      commit(store, tenant, many.slice(1)),
    ])
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await codes([commit(store, tenant, many)]), ['field.invalid'])
    const [wide] = await codes([store.write(tenant, tooWide)])
    assert.notEqual(wide, 'store.unavailable')
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
    assert.equal(transactions(), 2)
    down = false
    await commit(store, tenant, ['after'])
    assert.equal((await allEvents(store, tenant)).length, 1)
  })

  test('a chain that another process has grown since is read again, and the commit is kept', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'ambit-commit-')), 'a.db')
    onTestFinished(() => rmSync(dirname(path), { recursive: true }))
    const { store, tenant, transactions } = await counted(undefined, false, path)
    for (const id of ['a', 'b', 'c']) await commit(store, tenant, [id])
    const other = await openStore(openSqlite({ path }))
    await commit(other, tenant, ['d'])
    await commit(store, tenant, ['e'])
    assert.equal(transactions(), 3 + 2)
    const events = await allEvents(store, tenant)
    assert.deepEqual(chainFlaws(events), [])
    assert.deepEqual(
      events.map((event) => event.eventId),
      ['a', 'b', 'c', 'd', 'e'],
    )
    await Promise.all([store.close(), other.close()])
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
  around: (write: () => unknown) => unknown = (write) => write(),
  lanePerTenant = false,
  path = ':memory:',
): Promise<{ store: Store; tenant: TenantId; other: TenantId; transactions: () => number }> {
  const inner = openSqlite({ path })
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
