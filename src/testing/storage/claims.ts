import assert from 'node:assert/strict'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import {
  addClaim,
  type Claim,
  dropExpiredClaims,
  findClaim,
  holdClaim,
  resumeClaim,
  runningClaims,
  settleClaim,
  settleWaiting,
  takeClaim,
} from '../../storage/tables/claims.ts'
import { inOrder } from '../../storage/work.ts'
import { allPages, codes, type Given, type Register, type Setting, times } from './given.ts'
import { sampleClaim } from './sample.ts'

export function claimRules(test: Register, on: Setting): void {
  test('of many who claim at the same time one gets it [F-12]', on(oneClaimant))
  test('a running claim is never taken over, a settled one only after its result expired [F-12]', on(retaking))
  test('only its owner settles or holds a running claim [F-12]', on(ownersOnly))
  test('a claim can be added with its result, where it could have been taken [F-12]', on(added))
  test('of many who resume a waiting claim one goes on, and it must be the same thing [F-12]', on(oneResumes))
  test('a waiting claim can be ended, and then it cannot be resumed [F-12]', on(waitingEnds))
  test('running claims are listed by scope, page by page, and no others [F-12]', on(running))
  test('expired results are forgotten in steps, the oldest first, and nothing else is [F-12]', on(forgotten))
  test('a claim taken anew while expired ones are dropped is not dropped [F-12]', on(takenWhileDropped))
}

const claimBy = (owner: string, fingerprint = 'f') => sampleClaim('k', { owner, fingerprint })
const waiting = { state: 'waiting', result: '"wait"', expiresAtMs: null } as const

const found = (store: Store, tenant: TenantId, key = 'k'): Promise<Claim | undefined> =>
  store.read(() => findClaim(tenant, 's', key))

async function oneClaimant({ store, second, tenant }: Given): Promise<void> {
  const answers = await codes(
    times(20, (index) => (index % 2 === 0 ? store : second).write(tenant, takeClaim(claimBy(`o-${index}`), 0))),
  )
  assert.deepEqual(answers.toSorted(), [...times(19, () => 'claim.taken'), 'kept'])
  const owner = `o-${answers.indexOf('kept')}`
  const expected = { ...claimBy(owner), state: 'running', result: null, expiresAtMs: null }
  assert.deepEqual(await found(store, tenant), expected)
}

async function retaking({ store, tenant }: Given): Promise<void> {
  const take = (owner: string, nowMs: number) => store.write(tenant, takeClaim(claimBy(owner, owner), nowMs))
  await take('a', 0)
  await assert.rejects(take('b', Number.MAX_SAFE_INTEGER), { code: 'claim.taken' })
  await assert.rejects(take('a', 0), { code: 'claim.taken' })

  await store.write(tenant, settleClaim(claimBy('a'), '{"n":1}', 1000))
  const settled = { ...claimBy('a', 'a'), state: 'settled', result: '{"n":1}', expiresAtMs: 1000 }
  assert.deepEqual(await found(store, tenant), settled)
  await assert.rejects(take('b', 999), { code: 'claim.taken' })
  await take('b', 1000)
  const retaken = { ...claimBy('b', 'b'), state: 'running', result: null, expiresAtMs: null }
  assert.deepEqual(await found(store, tenant), retaken)
}

async function ownersOnly({ store, tenant }: Given): Promise<void> {
  const missing = { code: 'claim.not_found' }
  const ends = (owner: string) => [settleClaim(claimBy(owner), '1', 1), holdClaim(claimBy(owner), '1')]
  for (const end of ends('a')) await assert.rejects(store.write(tenant, end), missing)
  await store.write(tenant, takeClaim(claimBy('a'), 0))
  for (const end of ends('b')) await assert.rejects(store.write(tenant, end), missing)
  await store.write(tenant, settleClaim(claimBy('a'), '1', 1))
  for (const end of ends('a')) await assert.rejects(store.write(tenant, end), missing)
  assert.equal((await found(store, tenant))?.result, '1')
}

async function added({ store, second, tenant }: Given): Promise<void> {
  const denied = { state: 'settled', result: '"no"', expiresAtMs: 1000 } as const
  const add = (to: Store, owner: string, as: typeof denied | typeof waiting, nowMs = 0) =>
    to.write(tenant, addClaim({ ...claimBy(owner), ...as }, nowMs))
  const answers = await codes(times(10, (index) => add(index % 2 === 0 ? store : second, `o-${index}`, denied)))
  assert.deepEqual(answers.toSorted(), [...times(9, () => 'claim.taken'), 'kept'])
  assert.deepEqual(await found(store, tenant), { ...claimBy(`o-${answers.indexOf('kept')}`), ...denied })

  await assert.rejects(add(store, 'late', waiting, 999), { code: 'claim.taken' })
  await add(store, 'late', waiting, 1000)
  assert.deepEqual(await found(store, tenant), { ...claimBy('late'), ...waiting })
  await assert.rejects(store.write(tenant, takeClaim(claimBy('x'), Number.MAX_SAFE_INTEGER)), { code: 'claim.taken' })
}

async function oneResumes({ store, second, tenant }: Given): Promise<void> {
  await store.write(tenant, inOrder(takeClaim(claimBy('first'), 0), holdClaim(claimBy('first'), waiting.result)))
  assert.deepEqual(await found(store, tenant), { ...claimBy('first'), ...waiting })
  await assert.rejects(store.write(tenant, resumeClaim(claimBy('x', 'another'))), { code: 'claim.taken' })

  const resume = (index: number) => (index % 2 === 0 ? store : second).write(tenant, resumeClaim(claimBy(`o-${index}`)))
  const answers = await codes(times(20, resume))
  assert.deepEqual(answers.toSorted(), [...times(19, () => 'claim.taken'), 'kept'])
  const owner = `o-${answers.indexOf('kept')}`
  const expected = { ...claimBy(owner), state: 'running', result: null, expiresAtMs: null }
  assert.deepEqual(await found(store, tenant), expected)
  await assert.rejects(store.write(tenant, settleClaim(claimBy('first'), '1', 1)), { code: 'claim.not_found' })
  await store.write(tenant, settleClaim(claimBy(owner), '1', 1))
  await assert.rejects(store.write(tenant, resumeClaim(claimBy(owner))), { code: 'claim.taken' })
}

async function waitingEnds({ store, tenant }: Given): Promise<void> {
  const end = settleWaiting({ scope: 's', key: 'k' }, '"expired"', 9)
  await assert.rejects(store.write(tenant, end), { code: 'claim.not_found' })
  await store.write(tenant, takeClaim(claimBy('a'), 0))
  await assert.rejects(store.write(tenant, end), { code: 'claim.not_found' })
  await store.write(tenant, holdClaim(claimBy('a'), waiting.result))

  await store.write(tenant, end)
  assert.deepEqual(await found(store, tenant), {
    ...claimBy('a'),
    state: 'settled',
    result: '"expired"',
    expiresAtMs: 9,
  })
  await assert.rejects(store.write(tenant, end), { code: 'claim.not_found' })
  await assert.rejects(store.write(tenant, resumeClaim(claimBy('a'))), { code: 'claim.taken' })
}

async function running({ store, tenant }: Given): Promise<void> {
  for (const [index, key] of times(30, (index) => `k-${String(index).padStart(2, '0')}`).entries()) {
    const claim = sampleClaim(key)
    await store.write(tenant, takeClaim(claim, 0))
    if (index % 3 === 1) await store.write(tenant, settleClaim(claim, '1', 1))
    if (index % 3 === 2) await store.write(tenant, holdClaim(claim, '1'))
  }
  await store.write(tenant, takeClaim(sampleClaim('k-00', { scope: 'other' }), 0))
  const listed = await allPages(store, (options) => runningClaims(tenant, 's', options), { limit: 3 })
  const expected = times(10, (index) => sampleClaim(`k-${String(index * 3).padStart(2, '0')}`))
  assert.deepEqual(
    listed,
    expected.map((claim) => ({ ...claim, state: 'running', result: null, expiresAtMs: null })),
  )
}

async function forgotten({ store, tenant }: Given): Promise<void> {
  const settle = (key: string, expiresAtMs: number | null) =>
    store.write(tenant, addClaim({ ...sampleClaim(key), state: 'settled', result: '1', expiresAtMs }, 0))
  for (const [key, expiresAtMs] of Object.entries({ c: 30, a: 10, d: 40, b: 20, never: null })) {
    await settle(key, expiresAtMs)
  }
  await store.write(tenant, takeClaim(sampleClaim('running'), 0))
  await store.write(tenant, addClaim({ ...sampleClaim('waiting'), ...waiting }, 0))

  const drop = (nowMs: number, limit: number) => store.write(tenant, dropExpiredClaims(nowMs, limit))
  assert.deepEqual([await drop(9, 10), await drop(30, 2)], [0, 2])
  assert.deepEqual(await Promise.all(['a', 'b'].map((key) => found(store, tenant, key))), [undefined, undefined])
  assert.deepEqual([await drop(30, 2), await drop(Number.MAX_SAFE_INTEGER, 10)], [1, 1])
  for (const key of ['never', 'running', 'waiting']) assert((await found(store, tenant, key)) !== undefined)
}

async function takenWhileDropped({ store, second, tenant }: Given): Promise<void> {
  const keys = times(60, (index) => `k-${index}`)
  const settled = { state: 'settled', result: '1' } as const
  for (const [index, key] of keys.entries()) {
    await store.write(tenant, addClaim({ ...sampleClaim(key), ...settled, expiresAtMs: index + 1 }, 0))
  }
  // Both go through the claims in the same order, one by one, so that they meet.
  await Promise.all([
    eachInTurn(keys, (key) => store.write(tenant, takeClaim(sampleClaim(key, { owner: 'next' }), 100))),
    eachInTurn(keys, () => second.write(tenant, dropExpiredClaims(100, 1))),
  ])
  const owners = await Promise.all(keys.map(async (key) => (await found(store, tenant, key))?.owner))
  assert.deepEqual(
    owners,
    keys.map(() => 'next'),
  )
}

async function eachInTurn(keys: readonly string[], act: (key: string) => Promise<unknown>): Promise<void> {
  for (const key of keys) await act(key)
}
