import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { allEvents, codes, times } from '../testing/storage/given.ts'
import {
  chainFlaws,
  makeTenant,
  plainSeal,
  sampleClaim,
  sampleDraft,
  samplePrincipal,
} from '../testing/storage/sample.ts'
import type { Database } from './database.ts'
import { openSqlite } from './drivers/sqlite.ts'
import { openStore, type Store } from './store.ts'
import { takeClaim } from './tables/claims.ts'
import { principalRecords } from './tables/identities.ts'
import { placesOf, removeCorrelation } from './tables/purge.ts'
import type { Change, Work } from './work.ts'

const commit = (store: Store, tenant: TenantId, id: string, change?: Change, correlation = 'c') =>
  store.commit(tenant, {
    ...(change && { change }),
    events: [sampleDraft(id, { correlation: { correlation_id: correlation } })],
    seal: plainSeal,
  })

/** A store on a database that answers at once, with the steps of every transaction since. */
async function watched() {
  const inner = openSqlite({ path: ':memory:' })
  const steps: number[] = []
  let ready = false
  const database: Database = {
    ...inner,
    write: <T>(work: () => Work<T>) => {
      if (!ready) return inner.write(work)
      steps.push(0)
      return inner.write(() => counted(work(), steps))
    },
  }
  const store = await openStore(database)
  const tenant = await makeTenant(store, 'acme')
  ready = true
  return { store, tenant, steps }
}

function* counted<T>(work: Work<T>, steps: number[]): Work<T> {
  let step = work.next()
  while (!step.done) {
    steps.push((steps.pop() ?? 0) + 1)
    step = work.next(yield step.value)
  }
  return step.value
}

test('a change that is refused after its event was sealed leaves no gap behind [F-13]', async () => {
  const { store, tenant } = await watched()
  const take = takeClaim(sampleClaim('k'), 0)
  await commit(store, tenant, 'a', take)
  for (const id of ['b', 'c']) await commit(store, tenant, id)
  assert.deepEqual(await codes([commit(store, tenant, 'd', take)]), ['claim.taken'])
  await commit(store, tenant, 'e')
  const events = await allEvents(store, tenant)
  assert.deepEqual(chainFlaws(events), [])
  assert.equal(events.at(-1)?.sequence, 4)
})

test('work that the database asks for once more is sealed anew [F-13]', async () => {
  let repeats = 0
  const inner = openSqlite({ path: ':memory:' })
  const database: Database = {
    ...inner,
    write: (work) =>
      inner.write(function* () {
        // What the first run has sealed and written is taken back before the second.
        if (repeats > 0) {
          yield [{ sql: 'SAVEPOINT again', params: [] }]
          yield* work()
          yield [{ sql: 'ROLLBACK TO again', params: [] }]
        }
        return yield* work()
      }),
  }
  const store = await openStore(database)
  const tenant = await makeTenant(store, 'acme')
  for (const id of ['a', 'b', 'c']) await commit(store, tenant, id)
  repeats++
  for (const id of ['d', 'e', 'f']) await commit(store, tenant, id)
  const events = await allEvents(store, tenant)
  assert.deepEqual(chainFlaws(events), [])
  assert.equal(events.length, 6)
})

test('the number of an event that another process wrote and purged is not given out again [F-13 H-63]', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'ambit-batch-')), 'a.db')
  onTestFinished(() => rmSync(dirname(path), { recursive: true }))
  const [one, two] = [await openStore(openSqlite({ path })), await openStore(openSqlite({ path }))]
  const tenant = await makeTenant(one, 'acme')
  for (const id of ['a', 'b', 'c']) await commit(one, tenant, id)
  await commit(two, tenant, 'd', undefined, 'gone')
  const removed = function* (owner: TenantId): Work<void> {
    const places = yield* placesOf(owner, 'gone')
    const leaves = places.map(({ sequence, contentHash }) => ({ sequence, leafHash: contentHash }))
    const rows = { claims: [], approvals: [] }
    const removal = { correlation: 'gone', leaves, scope: 's', rows, uses: { budgets: [], beginning: 'x' } }
    yield* removeCorrelation('p', removal)(owner)
  }
  await commit(two, tenant, 'p', Object.assign(removed, { forgets: true as const }))
  const { events } = await commit(one, tenant, 'e')
  assert.equal(events[0]?.sequence, 6)
  await Promise.all([one.close(), two.close()])
})

test('closing waits for commits that wait for company [F-13]', async () => {
  const { store, tenant } = await watched()
  const round = (name: string) => times(8, (index) => commit(store, tenant, `${name}-${index}`))
  for (const name of ['a', 'b']) await Promise.all(round(name))
  const late = round('c')
  await store.close()
  assert.deepEqual(
    await codes(late),
    times(8, () => 'kept'),
  )
})

test('changes of one statement travel with the events, or with each other before one that needs more [F-13]', async () => {
  const { store, tenant, steps } = await watched()
  const single = (key: string): Change => takeClaim(sampleClaim(key), 0)
  const several = (name: string): Change => principalRecords.add(samplePrincipal(name))
  const stepsOf = async (work: () => Promise<unknown>) => {
    steps.length = 0
    await work()
    return steps.splice(0)
  }
  for (const id of ['a', 'b', 'c']) await commit(store, tenant, id)
  assert.deepEqual(await stepsOf(() => commit(store, tenant, 'd', single('d'))), [1])
  const [alone = 0] = await stepsOf(() => commit(store, tenant, 'e', several('e')))
  const together = (change: (index: number) => Change, name: string) =>
    stepsOf(() => Promise.all(times(20, (index) => commit(store, tenant, `${name}-${index}`, change(index)))))
  // The first of those that come together goes alone, until it is known that they do.
  await together((index) => single(`f-${index}`), 'f')
  assert.deepEqual(await together((index) => single(`g-${index}`), 'g'), [1])
  const mixed = await together((index) => (index === 9 ? several('h') : single(`h-${index}`)), 'h')
  // Nine before it in one step; the ten behind it go with the events, as it does alone.
  assert.deepEqual(mixed, [1 + alone])
  assert.deepEqual(chainFlaws(await allEvents(store, tenant)), [])
})
