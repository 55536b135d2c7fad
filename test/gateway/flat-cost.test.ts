import assert from 'node:assert/strict'
import { onTestFinished, test, vi } from 'vitest'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { purgeEvidence } from '../../src/runtime/evidence/purge.ts'
import { record } from '../../src/runtime/evidence/record.ts'
import { openHost } from '../../src/runtime/hosting/host.ts'
import { makeOffer } from '../../src/runtime/hosting/offer.ts'
import type { Database } from '../../src/storage/database.ts'
import { openStore } from '../../src/storage/store.ts'
import { approvalRecords } from '../../src/storage/tables/approvals.ts'
import { neverEnds, reserve } from '../../src/storage/tables/budget-uses.ts'
import { unknownClaims } from '../../src/storage/tables/claims.ts'
import { rows, type Statement, text, type Work } from '../../src/storage/work.ts'
import { sampleApproval } from '../../src/testing/storage/sample.ts'
import { givenAmbit, givenTenant } from '../cli/given.ts'
import { anyone, echo } from '../support/host.ts'
import { startPostgres } from '../support/postgres.ts'

interface Asked {
  readonly sql: string
  readonly params: Extract<Statement, { sql: string }>['params']
  /** How many rows came back, or went in. */
  readonly rows: number
}

/** The database, with every statement noted that passes. */
function noting(database: Database, note: (asked: Asked) => void): Database {
  function* watched<T>(work: Work<T>): Work<T> {
    for (let step = work.next(); ; ) {
      if (step.done) return step.value
      const statements = step.value
      const answers = yield statements
      for (const [index, statement] of statements.entries())
        if ('sql' in statement) note({ ...statement, rows: answers[index]?.length ?? 0 })
        else note({ sql: `INSERT INTO ${statement.into.name}`, params: [], rows: statement.rows.length })
      step = work.next(answers)
    }
  }
  return {
    ...database,
    read: (work) => database.read(() => watched(work())),
    write: (work, queue) => database.write(() => watched(work()), queue),
  }
}

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

/** How the database answers each statement, line by line. */
async function plansOf(database: Database, asked: Iterable<Asked>): Promise<readonly string[]> {
  const explain = database.dialect === 'sqlite' ? explainInSqlite : explainInPostgres
  await database.write(() => rows('ANALYZE'))
  const lines: string[] = []
  for (const { sql, params } of asked) {
    if (!/^(SELECT|WITH|UPDATE|DELETE|INSERT.*ON CONFLICT)/s.test(sql)) continue
    const plan = await database.read(() => explain(sql.replace(/ FOR UPDATE$/, ''), params))
    lines.push(...plan.map((line) => `${line.trim()} in ${sql}`))
  }
  return lines
}

type Explain = (sql: string, params: Asked['params']) => Work<readonly string[]>

const explainInSqlite: Explain = function* (sql, params) {
  return (yield* rows(`EXPLAIN QUERY PLAN ${sql}`, ...params)).map((line) => text(line, 'detail'))
}

/** Goes through a table only where there is no other way: a small one it would always go through. */
const costMax = 50
const explainInPostgres: Explain = function* (sql, params) {
  yield* rows('SET LOCAL enable_seqscan = off')
  return (yield* rows(`EXPLAIN ${sql}`, ...params)).map((line) => text(line, 'QUERY PLAN'))
}

// What is not stored, and is as long as the statement itself.
const inHand = /^SCAN (CONSTANT ROW|\d+ CONSTANT ROWS|wanted|log)\b/
// The last of a tenant's events is at the end of the index by sequence: to find it, nothing but the tenant is needed.
const atTheEnd = /(MAX\(|SELECT sequence, content_hash FROM events WHERE tenant_id = \? ORDER BY sequence DESC LIMIT 1)/

function isLong(line: string): boolean {
  if (line.startsWith('SCAN')) return !inHand.test(line)
  const byTenant = /^SEARCH (?!tenants)\w+ USING .*\(tenant_id=\?\) in /.test(line)
  return byTenant && !atTheEnd.test(line)
}

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
  // An index may be gone through from end to end as well, but not for so little.
  const costOf = (line: string) => Number(/ Scan .*\(cost=[\d.]+\.\.([\d.]+) /.exec(line)?.[1] ?? 0)
  const isLong = (line: string) => line.includes('Seq Scan') || (costOf(line) > costMax && !atTheEnd.test(line))
  assert.deepEqual(plans.filter(isLong), [])
  assert(plans.filter((line) => line.startsWith('Index Cond')).length > 5, plans.join('\n'))
})
