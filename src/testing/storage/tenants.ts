import assert from 'node:assert/strict'
import { sha256 } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import type { ApiKey } from '../../model/identity/key.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { getBlob, putBlob } from '../../storage/tables/blobs.ts'
import { addCheckpoint, checkpointAt, lastCheckpoint } from '../../storage/tables/checkpoints.ts'
import {
  addClaim,
  dropExpiredClaims,
  findClaim,
  holdClaim,
  resumeClaim,
  runningClaims,
  settleClaim,
  settleWaiting,
  takeClaim,
} from '../../storage/tables/claims.ts'
import { chainTails, eventsFrom, eventsOf, findEvents, getEvent, lastSequence } from '../../storage/tables/events.ts'
import { approverRecords, keyRecords, keysOf, principalRecords } from '../../storage/tables/identities.ts'
import { acquireLease, type Lease, releaseLease } from '../../storage/tables/leases.ts'
import { addStatement, listStatements } from '../../storage/tables/statements.ts'
import { addTenant, amendTenant, getTenant, listTenants } from '../../storage/tables/tenants.ts'
import { inOrder } from '../../storage/work.ts'
import { allEvents, allPages, codes, type Given, type Register, type Setting, sideBySide, times } from './given.ts'
import {
  addWithin,
  countOf,
  plainSeal,
  sampleApproval,
  sampleApprover,
  sampleClaim,
  sampleDraft,
  samplePrincipal,
  sampleTenant,
} from './sample.ts'

export function tenantRules(test: Register, on: Setting): void {
  test('ids that differ only in case are different ids [F-12]', on(caseCounts))
  test('ids are listed in the order of their code points [F-12]', on(codePointOrder))
  test('two tenants with equal ids everywhere see and change nothing of each other [F-12]', on(apart))
  test('a tenant id and a host id are taken once, even by several at a time [F-12]', on(takenOnce))
  test('tenants are listed page by page, and amenders at the same time lose nothing [F-12]', on(listed))
  test('a commit for an unknown tenant is refused and leaves nothing [F-13]', on(unknownTenant))
}

async function caseCounts({ store, tenant }: Given): Promise<void> {
  const ids = ['Alice', 'alice', 'ALICE', 'straße', 'STRASSE', 'é', 'e\u0301']
  for (const id of ids) {
    await store.write(tenant, principalRecords.add(samplePrincipal(id, id)))
    await store.write(tenant, takeClaim(sampleClaim(id, { fingerprint: id, owner: id }), 0))
    await store.write(tenant, acquireLease({ name: id, holder: id, ttlMs: 1 }, 0))
    await store.write(tenant, addWithin({ scope: 's', key: id, amount: 1, max: 1 }))
    await store.write(tenant, approverRecords.add(sampleApprover(id)))
    assert.equal(await store.write(tenant, addStatement({ kind: 'anchor', id, body: id })), true)
    await store.commit(tenant, {
      events: [sampleDraft(id, { correlation: { correlation_id: id } })],
      seal: plainSeal,
    })
  }
  for (const id of ids) {
    assert.equal((await store.read(() => principalRecords.get(tenant, id))).display, id)
    assert.equal((await store.read(() => findClaim(tenant, 's', id)))?.owner, id)
    assert.equal((await store.read(() => getEvent(tenant, id))).eventId, id)
    assert.equal((await store.read(() => eventsOf(tenant, id, 0, 10))).length, 1)
  }
}

async function codePointOrder({ store, tenant }: Given): Promise<void> {
  // By UTF-16 unit the last two would change places; by language most of them.
  const ordered = ['-', '0', 'A', 'Z', '_', 'a', 'aa', 'b', 'z', 'é', 'Ω', 'я', '한', '\uff5e', '😀']
  for (const id of ordered.toReversed()) {
    await store.write(tenant, principalRecords.add(samplePrincipal(id)))
    await store.commit(tenant, {
      events: [sampleDraft(id, { correlation: { correlation_id: id } })],
      seal: plainSeal,
    })
  }
  const listed = await allPages(store, (options) => principalRecords.list(tenant, options), { limit: 2 })
  assert.deepEqual(
    listed.map((principal) => principal.principal_id),
    ordered,
  )
  assert.deepEqual(
    (await store.read(() => chainTails(tenant))).map(([correlation]) => correlation),
    ordered,
  )
}

async function apart({ store, tenant, other }: Given): Promise<void> {
  const lease = await fill(store, tenant, 'first')
  const others = await fill(store, other, 'second')
  const before = await everything(store, other, 'first')
  assert.equal(JSON.stringify(before).includes('first'), false)
  assert.equal(JSON.stringify(await everything(store, tenant, 'second')).includes('second'), false)

  await changeEverything(store, tenant, lease)
  assert.deepEqual(await everything(store, other, 'first'), before)
  await store.write(other, releaseLease(others))
}

async function fill(store: Store, tenant: TenantId, mark: string): Promise<Lease> {
  const lease = acquireLease({ name: 'l', holder: mark, ttlMs: 1000 }, 0)
  const key: ApiKey = {
    key_id: 'key_1',
    principal_id: 'p',
    name: mark,
    scopes: [],
    secret_hash: mark,
    created_at: formatTime(0),
    expires_at: null,
    revoked_at: null,
    replaced_by: null,
  }
  const change = inOrder(
    principalRecords.add(samplePrincipal('p', mark)),
    keyRecords.add(key),
    takeClaim(sampleClaim('k', { fingerprint: mark, owner: mark, body: mark }), 0),
    putBlob(Buffer.from(mark)),
    addCheckpoint({ logSize: 1, log: mark, hash: mark, body: mark }, null),
    takeClaim(sampleClaim('waiting', { body: mark }), 0),
    holdClaim(sampleClaim('waiting'), mark),
    addClaim({ ...sampleClaim('old', { body: mark }), state: 'settled', result: mark, expiresAtMs: 1 }, 0),
    addWithin({ scope: 's', key: 'k', amount: 1, max: 1 }),
    approvalRecords.add('call', { ...sampleApproval('apr_1', { purpose: mark }), private: mark }),
    approverRecords.add(sampleApprover('a', { principal: mark })),
    addStatement({ kind: 'witness', id: 'w', body: mark }),
    amendTenant((record) => ({ ...record, name: mark })),
  )
  const events = [sampleDraft('evt_1', { payload: { mark } }), sampleDraft('evt_2', { payload: { mark } })]
  await store.commit(tenant, { change, events, seal: plainSeal })
  return store.write(tenant, lease)
}

/** All that can be read of a tenant, and the other's blob, which it must not have. */
async function everything(store: Store, tenant: TenantId, others: string): Promise<unknown[]> {
  await assert.rejects(
    store.read(() => getBlob(tenant, sha256(others))),
    { code: 'blob.not_found' },
  )
  return store.read(function* () {
    return [
      yield* getTenant(tenant),
      yield* principalRecords.list(tenant),
      yield* principalRecords.get(tenant, 'p'),
      yield* keyRecords.list(tenant),
      yield* keysOf(tenant, 'p'),
      yield* findEvents(tenant, {}),
      yield* eventsOf(tenant, 'cor_1', 0, 10),
      yield* getEvent(tenant, 'evt_1'),
      yield* lastSequence(tenant),
      yield* chainTails(tenant),
      yield* eventsFrom(tenant, 0, 10),
      yield* findClaim(tenant, 's', 'k'),
      yield* findClaim(tenant, 's', 'waiting'),
      yield* findClaim(tenant, 's', 'old'),
      yield* runningClaims(tenant, 's'),
      yield* countOf(tenant, 's', 'k'),
      yield* approvalRecords.get(tenant, 'apr_1'),
      yield* approvalRecords.findByCall(tenant, 'call'),
      yield* approvalRecords.list(tenant),
      yield* approvalRecords.overdue(tenant, Number.MAX_SAFE_INTEGER, 10),
      yield* approverRecords.list(tenant),
      yield* listStatements(tenant, 'witness'),
      yield* lastCheckpoint(tenant),
      yield* checkpointAt(tenant, 1),
    ]
  })
}

async function changeEverything(store: Store, tenant: TenantId, lease: Lease): Promise<void> {
  const change = inOrder(
    principalRecords.amend('p', (record) => ({ ...record, status: 'revoked' })),
    keyRecords.amend('key_1', (record) => ({ ...record, revoked_at: formatTime(1) })),
    settleClaim({ scope: 's', key: 'k', owner: 'first', body: '{}' }, '1', 1),
    resumeClaim(sampleClaim('waiting', { owner: 'next' })),
    holdClaim(sampleClaim('waiting', { owner: 'next' }), '1'),
    settleWaiting(sampleClaim('waiting'), '2', 1),
    dropExpiredClaims(1, 10),
    addWithin({ scope: 's', key: 'k', amount: 1, max: 2 }),
    approvalRecords.amend('apr_1', (each) => ({ ...each, request: { ...each.request, state: 'expired' } })),
    approverRecords.amend('a', (record) => ({ ...record, revoked_at: formatTime(1) })),
    addStatement({ kind: 'witness', id: 'w2', body: '1' }),
    addCheckpoint({ logSize: 3, log: 'l', hash: 'h', body: 'b' }, 'first'),
    amendTenant((record) => ({ ...record, status: 'suspended' })),
    releaseLease(lease),
  )
  await store.commit(tenant, { change, events: [sampleDraft('evt_3')], seal: plainSeal })
}

async function takenOnce({ store, second }: Given): Promise<void> {
  const ask = (index: number, id: string, host: string) =>
    (index % 2 === 0 ? store : second).write(tenantId(id), addTenant(sampleTenant(id, host)))
  const sameId = await codes(times(8, (index) => ask(index, 'same', `host-${index}`)))
  assert.deepEqual(sameId.sort(), ['kept', ...times(7, () => 'tenant.exists')])
  const sameHost = await codes(times(8, (index) => ask(index, `id-${index}`, 'host')))
  assert.deepEqual(sameHost.sort(), ['kept', ...times(7, () => 'tenant.exists')])
}

async function listed(given: Given): Promise<void> {
  const { store, tenant } = given
  const longer = amendTenant((record) => ({ ...record, name: `${record.name}!` }))
  await sideBySide(given, 20, (to) => to.write(tenant, longer))
  const found = await allPages(store, listTenants, { limit: 1 })
  assert.deepEqual(
    found.map(({ tenant_id, name }) => [tenant_id, name]),
    [
      ['acme', `acme${'!'.repeat(40)}`],
      ['other', 'other'],
    ],
  )
  const missing = tenantId('missing')
  await assert.rejects(
    store.read(() => getTenant(missing)),
    { code: 'tenant.not_found' },
  )
  await assert.rejects(
    store.write(
      missing,
      amendTenant((record) => record),
    ),
    { code: 'tenant.not_found' },
  )
}

async function unknownTenant({ store, tenant }: Given): Promise<void> {
  const missing = tenantId('missing')
  const commit = (to: TenantId, id: string) =>
    store.commit(to, {
      change: principalRecords.add(samplePrincipal(id)),
      events: [sampleDraft(id)],
      seal: plainSeal,
    })
  const answers = await codes([commit(missing, 'a'), commit(tenant, 'b'), commit(missing, 'c')])
  assert.deepEqual(answers, ['tenant.not_found', 'kept', 'tenant.not_found'])
  assert.deepEqual(await store.read(() => principalRecords.list(missing)), { items: [] })
  assert.deepEqual(await allEvents(store, missing), [])
  await assert.rejects(
    store.read(() => lastSequence(missing)),
    { code: 'tenant.not_found' },
  )
}
