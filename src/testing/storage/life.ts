import assert from 'node:assert/strict'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { addClaim, resumeClaim, runningClaims, takeClaim } from '../../storage/tables/claims.ts'
import { lastSequence } from '../../storage/tables/events.ts'
import { approverRecords, principalRecords } from '../../storage/tables/identities.ts'
import { addStatement, listStatements } from '../../storage/tables/statements.ts'
import { inOrder, row, type Work } from '../../storage/work.ts'
import { allEvents, codes, type Given, type Register, type Setting, times } from './given.ts'
import {
  addWithin,
  chainFlaws,
  plainSeal,
  sampleApproval,
  sampleApprover,
  sampleClaim,
  sampleDraft,
  samplePrincipal,
} from './sample.ts'

export function lifeRules(test: Register, on: Setting): void {
  test('closing waits for what is under way, and what was acknowledged is there afterwards [F-12]', on(closing))
  test('claims, uses, approvals and statements are there for the next who opens the store [F-12]', on(reopened))
  test('a closed store refuses everything, and can be closed again [F-12]', on(closed))
  test('a read sees one snapshot, however many commits come in between [F-12]', on(snapshot))
  test('a read that fails leaves the store usable [F-12]', on(failedRead))
}

async function closing({ store, tenant, reopen }: Given): Promise<void> {
  const commits = times(40, (index) => store.commit(tenant, { events: [sampleDraft(`e-${index}`)], seal: plainSeal }))
  const writes = times(40, (index) => store.write(tenant, principalRecords.add(samplePrincipal(`p-${index}`))))
  const reads = times(40, () => store.read(() => lastSequence(tenant)))
  const underWay = codes([...commits, ...writes, ...reads])
  await store.close()
  assert.deepEqual(
    await underWay,
    times(120, () => 'kept'),
  )
  if (reopen === undefined) return
  const again = await reopen()
  const events = await allEvents(again, tenant)
  assert.equal(events.length, 40)
  assert.deepEqual(chainFlaws(events), [])
  assert.equal((await again.read(() => principalRecords.list(tenant))).items.length, 40)
}

async function reopened({ store, tenant, reopen }: Given): Promise<void> {
  const approval = sampleApproval('apr_1')
  await store.write(
    tenant,
    inOrder(
      takeClaim(sampleClaim('running'), 0),
      addClaim({ ...sampleClaim('waiting'), state: 'waiting', result: '1', expiresAtMs: null }, 0),
      addWithin({ scope: 's', key: 'k', amount: 2, max: 3 }),
      approvalRecords.add('call', approval),
      approverRecords.add(sampleApprover('ida')),
      addStatement({ kind: 'witness', id: 'w', body: '1' }),
    ),
  )
  if (reopen === undefined) return
  await store.close()
  const again = await reopen()
  assert.deepEqual(
    (await again.read(() => runningClaims(tenant, 's'))).items.map(({ key, owner }) => [key, owner]),
    [['running', 'o']],
  )
  await again.write(tenant, resumeClaim(sampleClaim('waiting', { owner: 'next' })))
  const over = addWithin({ scope: 's', key: 'k', amount: 2, max: 3 })
  await assert.rejects(again.write(tenant, over), {
    code: 'budget.exceeded',
    data: { used: { calls: 2, time_ms: 0, cost: 0, bytes: 0 } },
  })
  assert.deepEqual(await again.read(() => approvalRecords.findByCall(tenant, 'call')), [approval])
  assert.deepEqual(await again.read(() => approverRecords.get(tenant, 'ida')), sampleApprover('ida'))
  assert.equal((await again.read(() => listStatements(tenant, 'witness'))).items.length, 1)
}

async function closed({ store, tenant }: Given): Promise<void> {
  await store.close()
  await store.close()
  const answers = await codes([
    store.read(() => lastSequence(tenant)),
    store.write(tenant, principalRecords.add(samplePrincipal('p'))),
    store.commit(tenant, { events: [sampleDraft('e')], seal: plainSeal }),
  ])
  assert.deepEqual(
    answers,
    times(3, () => 'store.unavailable'),
  )
}

async function snapshot({ store, second, tenant }: Given): Promise<void> {
  let committed = false
  let commit: Promise<unknown> | undefined
  function* count(): Work<number> {
    const found = yield* row('SELECT COUNT(*) AS n FROM events WHERE tenant_id = ?', tenant)
    return Number(found?.['n'])
  }
  const [before, after] = await store.read(function* () {
    const before = yield* count()
    // The work may be run again from its start: then it is under way already.
    commit ??= second.commit(tenant, { events: [sampleDraft('e')], seal: plainSeal }).then(() => {
      committed = true
    })
    // A database that works beside us has committed long before this ends; one that does not cannot commit at all.
    for (let turn = 0; turn < 1000 && !committed; turn++) yield* count()
    return [before, yield* count()]
  })
  assert.equal(before, after)
  await commit
  await second.commit(tenant, { events: [sampleDraft('f')], seal: plainSeal })
  assert.equal(await store.read(count), 2)
}

async function failedRead({ store, tenant }: Given): Promise<void> {
  const failures = await codes(times(40, () => store.read(() => row('SELECT nothing FROM nowhere'))))
  assert.equal(failures.includes('kept'), false)
  assert.equal(await store.read(() => lastSequence(tenant)), 0)
  await store.commit(tenant, { events: [sampleDraft('e')], seal: plainSeal })
}
