import assert from 'node:assert/strict'
import { formatTime } from '../../base/time.ts'
import { approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import { allPages, codes, type Given, type Register, type Setting, times } from './given.ts'
import { cursorOf } from './records.ts'
import { sampleApproval } from './sample.ts'

export function approvalRules(test: Register, on: Setting): void {
  test('an approval is found by its id and by its call, with what the queue keeps to itself [F-12]', on(foundAgain))
  test('of many who redeem an approval at the same time one does [F-12]', on(redeemedOnce))
  test('approvals are listed newest first, by state or all, while more come in between [F-12]', on(newestFirst))
  test('a call like one that people were asked about is found by who asks for what [F-12]', on(foundByAsk))
  test('an approval is overdue when it is open past its time, however it was amended [F-12]', on(overdue))
}

const id = (index: number): string => `apr_${String(index).padStart(3, '0')}`
const idsOf = (approvals: readonly StoredApproval[]): string[] => approvals.map(({ request }) => request.approval_id)

async function foundAgain({ store, tenant }: Given): Promise<void> {
  const approval = { ...sampleApproval(id(1)), private: { nonce: 'ü\u0000', inputs: [1, null, { a: true }] } }
  await store.write(tenant, approvalRecords.add('call', approval))
  await store.write(tenant, approvalRecords.add('Call', sampleApproval(id(2))))
  await store.write(tenant, approvalRecords.add('call', sampleApproval(id(3))))
  assert.deepEqual(await store.read(() => approvalRecords.get(tenant, id(1))), approval)
  assert.deepEqual(idsOf(await store.read(() => approvalRecords.findByCall(tenant, 'call'))), [id(3), id(1)])
  assert.deepEqual(await store.read(() => approvalRecords.findByCall(tenant, 'none')), [])

  const missing = { code: 'approval.not_found', data: { id: 'apr_0' } }
  await assert.rejects(
    store.read(() => approvalRecords.get(tenant, 'apr_0')),
    missing,
  )
  const same = approvalRecords.amend('apr_0', (approval) => approval)
  await assert.rejects(store.write(tenant, same), missing)
}

async function redeemedOnce({ store, second, tenant }: Given): Promise<void> {
  await store.write(tenant, approvalRecords.add('call', sampleApproval(id(1), { state: 'approved' })))
  const redeem = approvalRecords.amend(id(1), ({ request, ...rest }) => {
    if (request.state !== 'approved') throw Object.assign(new Error('used'), { code: 'used' })
    return { ...rest, request: { ...request, state: 'redeemed', redeemed_at: formatTime(1) } }
  })
  const answers = await codes(times(20, (index) => (index % 2 === 0 ? store : second).write(tenant, redeem)))
  assert.deepEqual(answers.toSorted(), ['kept', ...times(19, () => 'used')])
  const { request } = await store.read(() => approvalRecords.get(tenant, id(1)))
  assert.deepEqual([request.state, request.redeemed_at], ['redeemed', formatTime(1)])
}

async function newestFirst({ store, second, tenant }: Given): Promise<void> {
  const states = ['pending', 'approved', 'withdrawn'] as const
  const add = (index: number) => {
    const approval = sampleApproval(id(index), { state: states[index % 3] ?? 'pending' })
    return second.write(tenant, approvalRecords.add(`call ${index}`, approval))
  }
  await Promise.all(times(30, add))
  let next = 30
  const listed = (filter: Parameters<typeof approvalRecords.list>[1]) =>
    allPages(store, (options) => approvalRecords.list(tenant, filter, options), {
      limit: 4,
      between: () => add(next++),
    })
  const before = idsOf(await listed({})).filter((each) => each < id(30))
  assert.deepEqual(before, times(30, id).reverse())
  for (const [index, state] of states.entries()) {
    const found = await listed({ state })
    assert.deepEqual(idsOf(found), idsOf(found).toSorted().reverse())
    assert(found.every(({ request }) => request.state === state))
    assert.deepEqual(
      idsOf(found).filter((each) => each < id(30)),
      times(10, (turn) => id(turn * 3 + index)).reverse(),
    )
  }
  await assert.rejects(
    store.read(() => approvalRecords.list(tenant, {}, { cursor: cursorOf([1]) })),
    { code: 'cursor.invalid' },
  )
}

async function foundByAsk({ store, second, tenant }: Given): Promise<void> {
  const states = ['pending', 'denied', 'approved', 'redeemed', 'expired', 'withdrawn', 'stale', 'pending'] as const
  for (const [index, state] of states.entries()) {
    const approval = sampleApproval(id(index), { state, expires_at: formatTime(1000 * (10 - index)) })
    await second.write(tenant, approvalRecords.add('call', approval, { asker: 'Ida', ask: 'this' }))
  }
  await store.write(tenant, approvalRecords.add('call', sampleApproval(id(20))))
  const found = async (nowMs: number, ask = 'this') =>
    (await store.read(() => approvalRecords.findByAsk(tenant, ask, nowMs)))?.request.approval_id
  assert.deepEqual([await found(0), await found(8000), await found(9000)], [id(2), id(1), id(0)])
  assert.deepEqual([await found(10_000), await found(0, 'This'), await found(0, '')], [undefined, undefined, undefined])
  const pending = (nowMs: number, asker = 'Ida') => store.read(() => approvalRecords.countPending(tenant, asker, nowMs))
  assert.deepEqual(
    [await pending(0), await pending(3000), await pending(10_000), await pending(0, 'ida')],
    [2, 1, 0, 0],
  )
  await store.write(
    tenant,
    approvalRecords.amend(id(2), (approval) => ({ ...approval, request: { ...approval.request, state: 'pending' } })),
  )
  assert.deepEqual([await found(0), await pending(0)], [id(1), 3])
}

async function overdue({ store, tenant }: Given): Promise<void> {
  const until = (expiresAtMs: number) => ({ expires_at: formatTime(expiresAtMs) })
  for (const [index, expiresAtMs] of [3000, 1000, 2000, 1000].entries()) {
    await store.write(tenant, approvalRecords.add('call', sampleApproval(id(index), until(expiresAtMs))))
  }
  const due = async (nowMs: number, limit = 10) =>
    idsOf(await store.read(() => approvalRecords.overdue(tenant, nowMs, limit)))
  const listed = async () => idsOf((await store.read(() => approvalRecords.list(tenant, { state: 'pending' }))).items)
  assert.deepEqual(await due(999), [])
  assert.deepEqual(await due(2000), [id(1), id(3), id(2)])
  assert.deepEqual(await due(2000, 2), [id(1), id(3)])

  const amend = (index: number, change: Partial<StoredApproval['request']>) =>
    store.write(
      tenant,
      approvalRecords.amend(id(index), (approval) => ({ ...approval, request: { ...approval.request, ...change } })),
    )
  await amend(1, { state: 'expired' })
  await amend(2, { state: 'approved' })
  await amend(3, until(5000))
  assert.deepEqual(await due(4000), [id(2), id(0)])
  assert.deepEqual(await listed(), [id(3), id(0)])
}
