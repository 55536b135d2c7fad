import assert from 'node:assert/strict'
import type { TenantId } from '../../model/tenant-id.ts'
import { findClaim, releaseClaim, settleClaim, takeClaim } from '../../storage/claims.ts'
import { principalRecords } from '../../storage/identities.ts'
import { acquireLease, type Lease, releaseLease, renewLease } from '../../storage/leases.ts'
import type { Store } from '../../storage/store.ts'
import { inOrder } from '../../storage/work.ts'
import { fakeClock } from '../ports.ts'
import { allEvents, codes, type Given, type Register, type Setting, times } from './given.ts'
import { plainSeal, sampleDraft, samplePrincipal } from './sample.ts'

export function claimRules(test: Register, on: Setting): void {
  test('of many who claim at the same time one gets it [F-12]', on(oneClaimant))
  test('a running claim is never taken over, a settled one only after its result expired [F-12]', on(retaking))
  test('only its owner settles or releases a running claim [F-12]', on(ownersOnly))
}

export function leaseRules(test: Register, on: Setting): void {
  test('of many who want a lease one holds it [F-12]', on(oneHolder))
  test('a lease is renewed by its holder, lapses, and its fence rises with each new holder [F-12]', on(fencing))
  test('a holder who comes late is refused, and nothing of its commit is kept [F-12]', on(lateHolder))
}

const claimBy = (owner: string, fingerprint = 'f') => ({ scope: 's', key: 'k', fingerprint, owner })

async function oneClaimant({ store, second, tenant }: Given): Promise<void> {
  const answers = await codes(
    times(20, (index) => (index % 2 === 0 ? store : second).write(tenant, takeClaim(claimBy(`o-${index}`), 0))),
  )
  assert.deepEqual(answers.toSorted(), [...times(19, () => 'claim.taken'), 'kept'])
  const claim = await store.read(() => findClaim(tenant, 's', 'k'))
  assert.deepEqual(claim, { ...claimBy(`o-${answers.indexOf('kept')}`), state: 'running', result: null })
}

async function retaking({ store, tenant }: Given): Promise<void> {
  const take = (owner: string, nowMs: number) => store.write(tenant, takeClaim(claimBy(owner, owner), nowMs))
  await take('a', 0)
  await assert.rejects(take('b', Number.MAX_SAFE_INTEGER), { code: 'claim.taken' })
  await assert.rejects(take('a', 0), { code: 'claim.taken' })

  await store.write(tenant, settleClaim(claimBy('a'), '{"n":1}', 1000))
  assert.deepEqual(await store.read(() => findClaim(tenant, 's', 'k')), {
    ...claimBy('a', 'a'),
    state: 'settled',
    result: '{"n":1}',
  })
  await assert.rejects(take('b', 999), { code: 'claim.taken' })
  await take('b', 1000)
  assert.deepEqual(await store.read(() => findClaim(tenant, 's', 'k')), {
    ...claimBy('b', 'b'),
    state: 'running',
    result: null,
  })
}

async function ownersOnly({ store, tenant }: Given): Promise<void> {
  const missing = { code: 'claim.not_found' }
  await assert.rejects(store.write(tenant, releaseClaim(claimBy('a'))), missing)
  await store.write(tenant, takeClaim(claimBy('a'), 0))
  await assert.rejects(store.write(tenant, settleClaim(claimBy('b'), '1', 1)), missing)
  await assert.rejects(store.write(tenant, releaseClaim(claimBy('b'))), missing)
  await store.write(tenant, releaseClaim(claimBy('a')))
  assert.equal(await store.read(() => findClaim(tenant, 's', 'k')), undefined)

  await store.write(tenant, takeClaim(claimBy('b'), 0))
  await store.write(tenant, settleClaim(claimBy('b'), '1', 1))
  await assert.rejects(store.write(tenant, settleClaim(claimBy('b'), '2', 1)), missing)
  await assert.rejects(store.write(tenant, releaseClaim(claimBy('b'))), missing)
  assert.equal((await store.read(() => findClaim(tenant, 's', 'k')))?.result, '1')
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
  assert.deepEqual(await store.write(tenant, renewLease(first, 200, clock.now())), { ...first, expiresAtMs: 1299 })

  clock.advance(200)
  await assert.rejects(store.write(tenant, renewLease(first, 100, clock.now())), { code: 'lease.lost' })
  const next = await acquire(store, tenant, 'a', clock.now())
  assert.equal(next.fence, 2, 'one who let it lapse is a new holder')
  await assert.rejects(store.write(tenant, renewLease(first, 100, clock.now())), { code: 'lease.lost' })
  await store.write(tenant, releaseLease(next))
  assert.equal((await acquire(store, tenant, 'b', clock.now())).fence, 3)
}

async function lateHolder({ store, tenant }: Given): Promise<void> {
  const late = await acquire(store, tenant, 'a', 0)
  const present = await acquire(store, tenant, 'b', 100)
  await assert.rejects(store.write(tenant, releaseLease(late)), { code: 'lease.lost' })
  const commit = (lease: Lease, id: string) =>
    store.commit(tenant, {
      change: inOrder(principalRecords.add(samplePrincipal(id)), renewLease(lease, 100, 100)),
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
