import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, describe, test } from 'vitest'
import { emptySchema, inspect, pairOf } from '../../../test/storage/target.ts'
import { type Postgres, startPostgres } from '../../../test/support/postgres.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { allEvents, codes, times } from '../../testing/storage/given.ts'
import { chainFlaws, makeTenant, plainSeal, sampleDraft } from '../../testing/storage/sample.ts'
import { openStore, type Store } from '../store.ts'
import { rows } from '../work.ts'
import { openPostgres } from './postgres.ts'

const started = await startPostgres({ own: true })
afterAll(() => started?.stop())

const tenants = ['a', 'b', 'c'].map(tenantId)

describe.skipIf(started === undefined)('a store outlives its database server [F-14]', () => {
  test.each([
    ['a restart', (server: Postgres) => server.restart('fast')],
    ['a restart that leaves recovery to the next start', (server: Postgres) => server.restart('immediate')],
    ['a kill', (server: Postgres) => server.kill().then(() => server.restart())],
  ])(
    '%s amid writers: nothing acknowledged is lost, nothing refused is there, and the store goes on',
    async (_, disturb) => {
      const server = theServer()
      const store = await openStore(openPostgres({ url: await emptySchema(server) }))
      for (const tenant of tenants) await makeTenant(store, tenant)

      const writers = startWriters(store)
      await writers.underWay
      await disturb(server)
      writers.finish()
      await writers.done
      await check(store, writers.outcomes)
      await store.close()
    },
  )

  test('a server that is away is said to be, and is used again when it is back', async () => {
    const server = theServer()
    const store = await openStore(openPostgres({ url: await emptySchema(server) }))
    const tenant = await makeTenant(store, 'a')
    await server.kill()
    const away = { code: 'store.unavailable', data: { outcome: 'none', reason: 'ECONNREFUSED' } }
    // The first may still be told by the connection that was lost.
    await codes(times(16, (index) => store.commit(tenant, pairOf(`lost-${index}`))))
    await assert.rejects(store.commit(tenant, pairOf('x')), away)
    await assert.rejects(inspect(store, tenant), away)
    await server.restart()
    await store.commit(tenant, pairOf('y'))
    assert.deepEqual((await inspect(store, tenant)).flaws, [])
    await store.close()
  })
})

describe.skipIf(started === undefined)('what a server does by itself does not fork a chain [F-13 F-14]', () => {
  const commit = (store: Store, tenant: TenantId, id: string) =>
    store.commit(tenant, { events: [sampleDraft(id)], seal: plainSeal })

  test('one that went back behind what it acknowledged is read anew', async () => {
    const url = await emptySchema(theServer())
    const store = await openStore(openPostgres({ url }))
    const tenant = await makeTenant(store, 'a')
    for (const id of ['a', 'b', 'c', 'd', 'e']) await commit(store, tenant, id)
    const stranger = new pg.Client({ connectionString: url })
    await stranger.connect()
    await stranger.query('DELETE FROM events WHERE sequence > 3')
    await stranger.end()
    for (const id of ['f', 'g']) await commit(store, tenant, id)
    const events = await allEvents(store, tenant)
    assert.deepEqual(chainFlaws(events), [])
    assert.deepEqual(
      events.map((event) => event.eventId),
      ['a', 'b', 'c', 'f', 'g'],
    )
    await store.close()
  })

  test.each(['repeatable read', 'serializable'])(
    'one whose default isolation is %s gives no false conflict',
    async (level) => {
      const address = new URL(await emptySchema(theServer()))
      const isolation = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`
      address.searchParams.set('options', `${address.searchParams.get('options')} ${isolation}`)
      const url = address.href
      const stores = [await openStore(openPostgres({ url })), await openStore(openPostgres({ url }))] as const
      const tenant = await makeTenant(stores[0], 'a')
      const writer = (store: Store, name: number) => times(30, (index) => commit(store, tenant, `${name}-${index}`))
      assert.deepEqual(
        await codes(stores.flatMap(writer)),
        times(60, () => 'kept'),
      )
      assert.deepEqual(chainFlaws(await allEvents(stores[0], tenant)), [])
      for (const store of stores) await store.close()
    },
  )
})

describe.skipIf(started === undefined)('what cannot be waited for is refused [F-14]', () => {
  test('a lock that a stranger holds makes the store busy, and it works once the lock is gone', async () => {
    const url = await emptySchema(theServer())
    const store = await openStore(openPostgres({ url: `${url}&lock_timeout=50` }))
    const tenant = await makeTenant(store, 'a')
    const commit = (id: string) => store.commit(tenant, { events: [sampleDraft(id)], seal: plainSeal })
    const stranger = new pg.Client({ connectionString: url })
    await stranger.connect()
    await stranger.query('BEGIN')
    await stranger.query('LOCK TABLE events')
    assert.deepEqual(await codes([commit('one'), commit('two')]), ['store.busy', 'store.busy'])
    await stranger.query('ROLLBACK')
    await stranger.end()
    await commit('three')
    await store.close()
  })

  test('a process that hangs inside a transaction loses it after the wait that others are given', async () => {
    const database = openPostgres({ url: theServer().url })
    const shown = await database.read(function* () {
      return [yield* rows('SHOW lock_timeout'), yield* rows('SHOW idle_in_transaction_session_timeout')].flat()
    })
    assert.deepEqual(
      shown.map((row) => Object.values(row)),
      [['5s'], ['5s']],
    )
    await database.close()
  })

  test('a server that cannot be used says why and what to do', async () => {
    const { url } = theServer()
    const admin = openPostgres({ url })
    await admin.write(() => rows('CREATE ROLE weak LOGIN'))
    await admin.close()
    const at = (change: Partial<URL>): string => Object.assign(new URL(url), change).href
    const cases: [url: string, reason: string, help: RegExp][] = [
      [at({ pathname: '/nothing' }), '3D000', /make the database/],
      [at({ username: 'unknown' }), '28000', /check the user/],
      [at({ username: 'weak' }), '42501', /make tables/],
      [at({ search: '?options=-c%20default_transaction_read_only=on' }), '25006', /only reads/],
      [at({ search: '?sslmode=verify-full' }), 'connection lost', /reachable/],
      [at({ port: '1' }), 'ECONNREFUSED', /reachable/],
    ]
    for (const [url, reason, help] of cases) {
      const database = openPostgres({ url })
      await assert.rejects(openStore(database), { code: 'store.unavailable', data: { reason, outcome: 'none' }, help })
      await database.close()
    }
  })
})

test.skipIf(started === undefined)('more readers than connections all get their turn [F-12]', async () => {
  const database = openPostgres({ url: theServer().url, connections: 2 })
  const answers = times(100, (index) => database.read(() => rows(`SELECT ${index} AS n`)))
  assert.deepEqual(
    (await Promise.all(answers)).flat(),
    times(100, (n) => ({ n })),
  )
  await database.close()
})

function theServer(): Postgres {
  assert(started !== undefined)
  return started
}

type Outcome = 'kept' | 'none' | 'unknown'

interface Writers {
  /** Resolves when many commits were acknowledged and many are in flight. */
  readonly underWay: Promise<void>
  /** Lets each writer stop, once it has written again. */
  finish(): void
  readonly done: Promise<unknown>
  readonly outcomes: readonly Map<string, Outcome>[]
}

/** Writers without pause over several tenants, who note what they were told of each commit. */
function startWriters(store: Store): Writers {
  const underWay = Promise.withResolvers<void>()
  const outcomes = tenants.map(() => new Map<string, Outcome>())
  let finishing = false
  const write = async (writer: number): Promise<void> => {
    const [tenant, told] = [tenants[writer % tenants.length], outcomes[writer % tenants.length]]
    assert(tenant !== undefined && told !== undefined)
    for (let index = 0, left = 5; left > 0; index++) {
      const id = `${writer}-${index}`
      const outcome = await store.commit(tenant, pairOf(id)).then(() => 'kept' as const, outcomeOf)
      told.set(id, outcome)
      if (finishing && outcome === 'kept') left--
      if (outcomes.every((each) => each.size > 100)) underWay.resolve()
      await setImmediate()
    }
  }
  const done = Promise.all(times(12, write))
  return {
    underWay: underWay.promise,
    finish: () => {
      finishing = true
    },
    done,
    outcomes,
  }
}

function outcomeOf(error: { code?: unknown; data?: { outcome?: unknown } }): Outcome {
  assert.equal(error.code, 'store.unavailable', String(error))
  const outcome = error.data?.outcome
  assert(outcome === 'none' || outcome === 'unknown')
  return outcome
}

async function check(store: Store, outcomes: readonly Map<string, Outcome>[]): Promise<void> {
  for (const [index, told] of outcomes.entries()) {
    const { ids, flaws } = await inspect(store, tenants[index])
    assert.deepEqual(flaws, [])
    const wrong = [...told].filter(([id, outcome]) => outcome !== 'unknown' && ids.has(id) !== (outcome === 'kept'))
    assert.deepEqual(wrong, [])
    assert.deepEqual(
      [...ids].filter((id) => !told.has(id)),
      [],
    )
  }
  assert(
    outcomes.some((told) => [...told.values()].some((outcome) => outcome !== 'kept')),
    'nothing was in the way',
  )
}
