import assert from 'node:assert/strict'
import { onTestFinished, test, vi } from 'vitest'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { purgeEvidence } from '../../src/runtime/evidence/purge.ts'
import { record } from '../../src/runtime/evidence/record.ts'
import { openHost } from '../../src/runtime/hosting/host.ts'
import { makeOffer } from '../../src/runtime/hosting/offer.ts'
import { openStore } from '../../src/storage/store.ts'
import { approvalRecords } from '../../src/storage/tables/approvals.ts'
import { neverEnds, reserve } from '../../src/storage/tables/budget-uses.ts'
import { unknownClaims } from '../../src/storage/tables/claims.ts'
import { rows } from '../../src/storage/work.ts'
import { sampleApproval } from '../../src/testing/storage/sample.ts'
import { givenAmbit, givenTenant } from '../cli/given.ts'
import { anyone, echo } from '../support/host.ts'
import { startPostgres } from '../support/postgres.ts'
import { type Asked, isLong, noting, plansOf } from '../support/statements.ts'

const calls: Readonly<Record<string, object>> = {
  'in a new correlation': { capability_id: 'test.echo', payload: { a: 1 } },
  'in a known correlation': { capability_id: 'test.echo', correlation: { correlation_id: 'stored-7' } },
  'under an id': { capability_id: 'test.echo', invocation_id: 'inv-1' },
  'under the same id again': { capability_id: 'test.echo', invocation_id: 'inv-1' },
  'with a budget': { capability_id: 'test.limited', correlation: { correlation_id: 'stored-8' } },
  'that is refused': { capability_id: 'test.nothing' },
  'that needs people': { capability_id: 'test.asks', invocation_id: 'inv-2' },
  'that asks them again': { capability_id: 'test.asks', invocation_id: 'inv-2' },
  'that is deferred': { capability_id: 'test.echo', mode: 'async', invocation_id: 'inv-3' },
}

type Place = NonNullable<NonNullable<Parameters<typeof givenAmbit>[0]>['config']>['store']

/** What each kind of call asks of a store that holds so many events, and plans of its statements. */
async function costs(stored: number, place: Place = { driver: 'sqlite', path: ':memory:' }) {
  const ambit = await givenAmbit({ config: { store: place } })
  const me = await givenTenant(ambit, { id: 'northlight' })
  for (let left = stored; left > 0; left -= 1_000)
    await record(
      ambit,
      me,
      Array.from({ length: Math.min(left, 1_000) }, (_, index) => ({
        event_type: 'noted',
        payload: {},
        correlation: { correlation_id: `stored-${index % 500}` },
      })),
    )
  await record(ambit, me, [{ event_type: 'noted', payload: {}, correlation: { correlation_id: 'gone' } }])
  await purgeEvidence(ambit, me, { correlation: 'gone' })
  for (let index = 0; index < stored / 10; index++)
    await ambit.store.write(
      tenantId('northlight'),
      approvalRecords.add('a call', sampleApproval(`apr_${index}`, { expires_at: '2999-01-01T00:00:00.000Z' }), {
        asker: 'another',
        ask: `something else ${index}`,
      }),
    )
  // Of a table with a handful of rows, SQLite would rather read all than look one up.
  for (let index = 0; index < Math.max(100, stored / 10); index++)
    await ambit.store.write(
      tenantId('northlight'),
      reserve({ budget: 'another', holder: `holder-${index}`, ...neverEnds, amounts: { calls: 1 } }, {}),
    )
  let asked: Asked[] = []
  const all = new Map<string, Asked>()
  const noted = noting(ambit.database, (one) => {
    asked.push(one)
    all.set(one.sql, one)
  })
  const offer = {
    capabilities: [
      echo({ modes: ['sync', 'async'] }),
      echo({ id: 'test.limited', autonomy: { action_limit: 9, spend_limit: 9, spend_units: 1 } }),
      echo({ id: 'test.asks', policy: { approval_required: true } }),
    ],
  }
  const store = await openStore(noted)
  const host = await openHost({ ...ambit, store }, tenantId('northlight'), (id) => makeOffer(id, offer))
  await host.gateway.invoke(anyone, calls['in a new correlation'])
  all.clear()
  const kinds: Record<string, readonly string[]> = {}
  for (const [kind, envelope] of Object.entries(calls)) {
    asked = []
    await host.gateway.invoke(anyone, envelope)
    await vi.waitFor(async () => assert.deepEqual(await ambit.database.read(() => rows(running)), []))
    kinds[kind] = asked.map((one) => `${one.rows} ${one.sql}`)
  }
  asked = []
  await host.gateway.waitingCall(anyone, { capability_id: 'test.asks' })
  kinds['that may wait already'] = asked.map((one) => `${one.rows} ${one.sql}`)
  await store.read(() => unknownClaims(tenantId('northlight'), 'call', Date.now(), 64))
  return { kinds, plans: await plansOf(ambit.database, all.values()) }
}

const running = "SELECT 1 FROM claims WHERE state = 'running'"

test('a call asks the same of the store whatever it holds, and no statement of it goes through a table [H-91]', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const [empty, full] = [await costs(0), await costs(5_000)]
  assert.deepEqual(full.kinds, empty.kinds)
  assert.deepEqual([...empty.plans, ...full.plans].filter(isLong), [])
  assert(full.plans.filter((line) => line.startsWith('SEARCH')).length > 5, full.plans.join('\n'))
  assert.equal(full.kinds['that may wait already']?.length, 1)
  // Of the two transactions of a call, each is one step of few statements.
  assert((full.kinds['in a new correlation'] ?? []).length <= 8, full.kinds['in a new correlation']?.join('\n'))
})

test('no statement of a call goes through a table of PostgreSQL either [H-91]', async () => {
  const server = await startPostgres({ fsync: false })
  if (server === undefined) return
  onTestFinished(() => server.stop())
  const { plans } = await costs(5_000, { driver: 'postgres', url: await server.database() })
  assert.deepEqual(plans.filter(isLong), [])
  assert(plans.filter((line) => line.startsWith('Index Cond')).length > 5, plans.join('\n'))
})
