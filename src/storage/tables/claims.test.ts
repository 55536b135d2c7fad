import assert from 'node:assert/strict'
import fc from 'fast-check'
import { afterAll, test } from 'vitest'
import { emptySchema } from '../../../test/storage/target.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { codes } from '../../testing/storage/given.ts'
import { addWithin, makeTenant, sampleApproval, sampleClaim } from '../../testing/storage/sample.ts'
import type { Database } from '../database.ts'
import { openPostgres } from '../drivers/postgres.ts'
import { openSqlite } from '../drivers/sqlite.ts'
import { openStore, type Store } from '../store.ts'
import { type Change, inOrder, rows, text, type Work } from '../work.ts'
import { approvalRecords } from './approvals.ts'
import {
  addClaim,
  amendClaim,
  type Claim,
  dropExpiredClaims,
  findClaim,
  holdClaim,
  resumeClaim,
  runningClaims,
  settleClaim,
  settleWaiting,
  takeClaim,
  unknownClaims,
} from './claims.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

test('claims do what a plain model of them does, whatever is asked in which order: SQLite [F-12]', async () => {
  await likeTheModel(openSqlite({ path: ':memory:' }), 300)
})

test.skipIf(server === undefined)('and PostgreSQL [F-12]', async () => {
  await likeTheModel(openPostgres({ url: await emptySchema(server) }), 40)
})

async function likeTheModel(database: Database, numRuns: number): Promise<void> {
  const store = await openStore(database)
  let tenants = 0
  const runs = fc.asyncProperty(fc.array(anyStep, { minLength: 10, maxLength: 60 }), async (steps) => {
    const tenant = await makeTenant(store, `t-${tenants++}`)
    const model = new Map<string, Claim>()
    for (const step of steps) {
      const expected = step.model(model)
      const [answer] = await codes([store.write(tenant, step.change)])
      assert.equal(answer, expected, step.name)
      assert.deepEqual(await stateOf(store, tenant), stateOfModel(model), step.name)
    }
  })
  await fc.assert(runs, { numRuns })
  await store.close()
}

const keys = ['a', 'A']

const stateOf = (store: Store, tenant: TenantId): Promise<unknown> =>
  store.read(function* () {
    const claims = []
    for (const key of keys) claims.push(yield* findClaim(tenant, 's', key))
    const running = (yield* runningClaims(tenant, 's')).items.map(({ key }) => key)
    return { claims, running, due: (yield* unknownClaims(tenant, 's', 2, 9)).map(({ key }) => key).sort() }
  })

const stateOfModel = (model: ReadonlyMap<string, Claim>): unknown => ({
  claims: keys.map((key) => model.get(key)),
  running: keys.filter((key) => model.get(key)?.state === 'running').sort(),
  due: keys.filter((key) => model.get(key)?.state === 'unknown' && (model.get(key)?.expiresAtMs ?? 9) <= 2).sort(),
})

interface Step {
  readonly name: string
  readonly change: Change
  /** Changes the model and says how the change must be answered. */
  readonly model: (model: Map<string, Claim>) => string
}

const anyName = fc.record({
  key: fc.constantFrom(...keys),
  owner: fc.constantFrom('o', 'p'),
  fingerprint: fc.constantFrom('f', 'f', 'g'),
  body: fc.constantFrom('1', '2'),
})
const anyTime = fc.integer({ min: 0, max: 5 })

const anyStep: fc.Arbitrary<Step> = fc
  .tuple(fc.integer({ min: 0, max: 9 }), anyName, anyTime, fc.constantFrom('waiting', 'settled'))
  .map(([kind, given, time, state]) => stepsOf(sampleClaim(given.key, given), time, state)[kind] ?? assert.fail())

function stepsOf(claim: ReturnType<typeof sampleClaim>, time: number, state: 'waiting' | 'settled'): readonly Step[] {
  const running = { ...claim, state: 'running', result: null, expiresAtMs: null } as const
  const settled = { state: 'settled', result: `"${time}"`, expiresAtMs: time } as const
  const done = { ...claim, body: '3' }
  const added = { ...claim, ...(state === 'settled' ? settled : { state, result: '"w"', expiresAtMs: null }) }
  const own = ({ state, owner }: Claim) => state === 'running' && owner === claim.owner
  const free = (found: Claim | undefined) =>
    found === undefined || (found.state === 'settled' && (found.expiresAtMs ?? 9) <= time)

  const put = (next: Claim) => (model: Map<string, Claim>) =>
    free(model.get(claim.key)) ? kept(model.set(claim.key, next)) : 'claim.taken'
  const when = (refusal: string, fits: (found: Claim) => boolean, next: Partial<Claim>) => {
    return (model: Map<string, Claim>) => {
      const found = model.get(claim.key)
      if (found === undefined || !fits(found)) return refusal
      return kept(model.set(claim.key, { ...found, ...next }))
    }
  }
  const missing = 'claim.not_found'
  const resumable = (found: Claim) => found.state === 'waiting' && found.fingerprint === claim.fingerprint
  const resumed = { state: 'running', owner: claim.owner, body: claim.body, result: null } as const
  const again = inOrder(takeClaim({ ...claim, key: 'twice' }, 0), takeClaim({ ...claim, key: 'twice' }, 0))
  return [
    { name: 'take', change: takeClaim(claim, time), model: put(running) },
    { name: `add ${state}`, change: addClaim(added, time), model: put(added) },
    { name: 'resume', change: resumeClaim(claim), model: when('claim.taken', resumable, resumed) },
    {
      name: 'settle',
      change: settleClaim(done, settled.result, time),
      model: when(missing, own, { ...settled, body: done.body }),
    },
    {
      name: 'hold',
      change: holdClaim(claim, '"h"'),
      model: when(missing, own, { state: 'waiting', result: '"h"', body: claim.body }),
    },
    {
      name: 'settle waiting',
      change: settleWaiting(claim, settled.result, time),
      model: when(missing, (found) => found.state === 'waiting', settled),
    },
    {
      name: 'leave unknown',
      change: settleClaim(done, settled.result, time, 'unknown'),
      model: when(missing, own, { ...settled, state: 'unknown', body: done.body }),
    },
    {
      name: 'amend',
      change: amendClaim({ ...claim, ...settled, state: 'unknown' }, { body: '4', expiresAtMs: 4 }),
      model: when(
        missing,
        (found) => found.state === 'unknown' && found.result === settled.result && found.expiresAtMs === time,
        { body: '4', expiresAtMs: 4 },
      ),
    },
    { name: 'drop', change: dropExpiredClaims(time, 9), model: (model) => drop(model, free) },
    { name: 'undone', change: again, model: () => 'claim.taken' },
  ]
}

const kept = (_: unknown): string => 'kept'

function drop(model: Map<string, Claim>, free: (found: Claim | undefined) => boolean): string {
  for (const [key, claim] of model) if (free(claim)) model.delete(key)
  return 'kept'
}

test('what the gateway does for every call is one statement each, and none of them scans [F-12]', async () => {
  const store = await openStore(openSqlite({ path: ':memory:' }))
  const tenant = await makeTenant(store, 'acme')
  const claim = sampleClaim('k')
  const waiting = { state: 'waiting', result: '1', expiresAtMs: null } as const
  const hot: readonly Change[] = [
    takeClaim(claim, 0),
    holdClaim(claim, '1'),
    resumeClaim(claim),
    settleClaim(claim, '1', 1),
    () => findClaim(tenant, 's', 'k'),
    addClaim({ ...sampleClaim('w'), ...waiting }, 0),
    settleWaiting(sampleClaim('w'), '1', 1),
    addWithin({ scope: 's', key: 'k', amount: 1, max: 2 }),
    amendClaim({ ...sampleClaim('w'), state: 'settled', result: '1', expiresAtMs: 1 }, { state: 'unknown' }),
    () => unknownClaims(tenant, 's', 9, 9),
    dropExpiredClaims(9, 9),
    () => runningClaims(tenant, 's'),
    () => approvalRecords.findByCall(tenant, 'call'),
    () => approvalRecords.list(tenant),
    () => approvalRecords.list(tenant, { state: 'pending' }),
    () => approvalRecords.overdue(tenant, 9, 9),
    () => approvalRecords.countPending(tenant, 'asker', 9),
  ]
  await store.write(tenant, approvalRecords.add('call', sampleApproval('apr_1')))
  const plans = await store.write(tenant, function* () {
    const found: string[][] = []
    for (const change of hot) found.push(yield* planned(change(tenant)))
    return found
  })
  for (const plan of plans) assert.doesNotMatch(plan.join('\n'), /SCAN claims|SCAN approvals|TEMP B-TREE/)
  const chosen = await store.read(() => planned(approvalRecords.findByAsk(tenant, 'ask', 9)))
  // Those that ask for one thing are few, and sorted by the index alone.
  assert.match(
    chosen.join('\n'),
    /SEARCH approvals USING COVERING INDEX approvals_ask \(tenant_id=\? AND ask=\? AND exp/,
  )
  const all = plans.flat().join('\n')
  const indexes = ['call', 'state', 'overdue', 'asker'].map((name) => `approvals_${name}`)
  for (const index of ['claims_running', 'claims_unknown', 'claims_expiry', ...indexes])
    assert(all.includes(index), `${index} is not used:\n${all}`)
  await store.close()
})

/** Does the work, which must be one statement, and says how SQLite answers it. */
function* planned(work: Work<unknown>): Work<string[]> {
  const step = work.next()
  assert(!step.done && step.value.length === 1)
  const [statement] = step.value
  assert(statement !== undefined && 'sql' in statement)
  const plan = yield* rows(`EXPLAIN QUERY PLAN ${statement.sql}`, ...statement.params)
  assert(work.next(yield step.value).done)
  return plan.map((line) => text(line, 'detail'))
}
