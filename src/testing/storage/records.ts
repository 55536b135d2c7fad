import assert from 'node:assert/strict'
import { formatTime } from '../../base/time.ts'
import type { Principal } from '../../model/identity/principal.ts'
import { approverRecords, principalRecords } from '../../storage/tables/identities.ts'
import type { Change } from '../../storage/work.ts'
import { allPages, codes, type Given, type Register, type Setting, sideBySide, times } from './given.ts'
import { sampleApprover, samplePrincipal } from './sample.ts'

export function recordRules(test: Register, on: Setting): void {
  test('a record is added once, even by several writers at a time, and found by its id [F-12]', on(addedOnce))
  test('a record that is not there is said to be missing [F-12]', on(missing))
  test('an approver is a record like any other [F-12]', on(approvers))
  test('amenders at the same time lose none of their changes [F-12]', on(noLostUpdate))
  test('commits that touch the same records in opposite orders all come through [F-12]', on(oppositeOrders))
  test('pages hold every record that was there, once, while others come in between [F-12]', on(steadyPages))
  test('a limit out of range and a cursor not handed out are refused [F-12]', on(badPages))
}

async function addedOnce({ store, second, tenant }: Given): Promise<void> {
  const add = (index: number) =>
    (index % 2 === 0 ? store : second).write(tenant, principalRecords.add(samplePrincipal('p', String(index))))
  const answers = await codes(times(8, add))
  assert.deepEqual(answers.toSorted(), ['kept', ...times(7, () => 'principal.exists')])
  const { display } = await store.read(() => principalRecords.get(tenant, 'p'))
  assert.equal(display, String(answers.indexOf('kept')))
}

async function missing({ store, tenant }: Given): Promise<void> {
  assert.equal(await store.read(() => principalRecords.find(tenant, 'p')), undefined)
  await assert.rejects(
    store.read(() => principalRecords.get(tenant, 'p')),
    { code: 'principal.not_found' },
  )
  await assert.rejects(
    store.write(
      tenant,
      principalRecords.amend('p', (record) => record),
    ),
    { code: 'principal.not_found' },
  )
}

async function approvers({ store, tenant }: Given): Promise<void> {
  const ida = sampleApprover('ida')
  await store.write(tenant, approverRecords.add(ida))
  await assert.rejects(store.write(tenant, approverRecords.add(ida)), { code: 'approver.exists' })
  await assert.rejects(
    store.read(() => approverRecords.get(tenant, 'kim')),
    { code: 'approver.not_found' },
  )
  const end = approverRecords.amend('ida', (record) => ({ ...record, revoked_at: formatTime(1) }))
  assert.deepEqual(await store.write(tenant, end), { ...ida, revoked_at: formatTime(1) })
  assert.deepEqual((await store.read(() => approverRecords.list(tenant))).items, [
    { ...ida, revoked_at: formatTime(1) },
  ])
}

const countUp = (id: string): Change<Principal> =>
  principalRecords.amend(id, (record) => ({ ...record, display: String(Number(record.display) + 1) }))

async function noLostUpdate(given: Given): Promise<void> {
  const { store, second, tenant } = given
  await store.write(tenant, principalRecords.add(samplePrincipal('counter', '0')))
  await sideBySide(given, 30, (to) => to.write(tenant, countUp('counter')))
  await Promise.all(times(60, (index) => (index % 2 === 0 ? store : second).write(tenant, countUp('counter'))))
  assert.equal((await store.read(() => principalRecords.get(tenant, 'counter'))).display, '120')
}

async function oppositeOrders({ store, second, tenant }: Given): Promise<void> {
  const ids = times(40, (index) => `p-${index}`)
  await Promise.all(ids.map((id) => store.write(tenant, principalRecords.add(samplePrincipal(id, '0')))))
  const upwards = ids.map((id) => store.write(tenant, countUp(id)))
  const downwards = ids.toReversed().map((id) => second.write(tenant, countUp(id)))
  await Promise.all([...upwards, ...downwards])
  const { items } = await store.read(() => principalRecords.list(tenant))
  assert.deepEqual(
    items.map((record) => record.display),
    ids.map(() => '2'),
  )
}

async function steadyPages({ store, second, tenant }: Given): Promise<void> {
  const first = times(30, (index) => `p-${String(index).padStart(2, '0')}`)
  const add = (id: string) => second.write(tenant, principalRecords.add(samplePrincipal(id)))
  await Promise.all(first.map(add))
  let turn = 0
  const found = await allPages(store, (options) => principalRecords.list(tenant, options), {
    limit: 4,
    between: () => Promise.all([add(`a-${turn}`), add(`p-00-${turn}`), add(`p-29-${turn++}`)]),
  })
  const ids = found.map((principal) => principal.principal_id)
  assert.deepEqual(ids, [...new Set(ids)].sort())
  assert.deepEqual(
    first.filter((id) => !ids.includes(id)),
    [],
  )
}

async function badPages({ store, tenant }: Given): Promise<void> {
  for (const limit of [0, -1, 1.5, 1001, Number.NaN, Number.POSITIVE_INFINITY]) {
    await assert.rejects(
      store.read(() => principalRecords.list(tenant, { limit })),
      { code: 'field.invalid' },
    )
  }
  const notUtf8 = Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]).toString('base64url')
  const loneSurrogate = Buffer.from('["\\ud800"]').toString('base64url')
  const wrong = [null, [], [1], ['a', 'b'], 'a', { 0: 'a' }].map(cursorOf)
  for (const cursor of ['', '!', 'bnVsbA', notUtf8, loneSurrogate, ...wrong]) {
    await assert.rejects(
      store.read(() => principalRecords.list(tenant, { cursor })),
      { code: 'cursor.invalid' },
    )
  }
}

export const cursorOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
