import assert from 'node:assert/strict'
import { test } from 'vitest'
import { approvalIdOf, type GivenApprovals, givenApprovals, payload } from '../../../test/support/approvals.ts'
import { typesOf } from '../../../test/support/host.ts'
import { addApprover, approversOf, revokeApprover } from '../../runtime/identity/approvers.ts'
import { operator } from '../../runtime/identity/caller.ts'
import { revokePrincipal } from '../../runtime/identity/principals.ts'
import { approverRecords } from '../../storage/tables/identities.ts'

const _minute = 60_000
const _typesIn = async ({ events }: GivenApprovals) =>
  typesOf((await events()).filter(({ correlation }) => correlation.correlation_id === 'task'))
const _reasonOf = ({ denial }: { denial?: { details?: Record<string, unknown> | undefined } | null | undefined }) =>
  denial?.details?.['reason']

test('no party of a call decides about it: not the caller, the actor, nor its owner [H-55]', async () => {
  const given = await givenApprovals()
  for (const name of ['ida', 'jo', 'kai']) await given.person(name)
  await given.caller({ id: 'other', kind: 'agent' })
  const id = approvalIdOf(await given.ask(payload, { actor: { id: 'ida', owner: 'jo' } }))
  for (const name of ['ida', 'jo', 'planner'])
    await assert.rejects(given.decide(id, name, 'approve'), { code: 'approval.self' })
  await assert.rejects(given.decide(id, 'other', 'approve'), { code: 'approver.not_permitted' })
  assert.deepEqual(await given.host.gateway.pendingFor('ida'), [])
  assert.equal((await given.decide(id, 'kai', 'approve')).state, 'approved')
})

test('a person with two entries is one vote [H-56]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  await given.person('ida')
  await given.person('ida', { id: 'ida-2', roles: ['pharmacist'] })
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  await assert.rejects(given.decide(id, 'ida', 'approve'), { code: 'approval.used' })
  assert.equal((await given.ask()).denial?.code, 'approval_required')
})

test('who was revoked no longer counts: the others are asked anew [H-54 H-55]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  await given.person('jo')
  const first = approvalIdOf(await given.ask())
  await given.decide(first, 'ida', 'approve')
  await revokeApprover(given.ambit, operator(given.host.tenant), 'ida')
  const again = await given.ask()
  const second = approvalIdOf(again)
  assert.notEqual(second, first)
  assert.deepEqual([(await given.request(first)).state, given.done], ['stale', []])
  await assert.rejects(given.decide(second, 'ida', 'approve'), { code: 'approver.not_permitted' })
  await given.decide(second, 'jo', 'approve')
  assert.equal((await given.ask()).outcome, 'success')
})

test('a principal that is revoked takes their yes with them, and decides about nothing [H-54 H-55]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  await given.person('jo')
  const me = operator(given.host.tenant)
  const first = approvalIdOf(await given.ask())
  await given.decide(first, 'ida', 'approve')
  await revokePrincipal(given.ambit, me, 'ida')
  const second = approvalIdOf(await given.ask())
  assert.notEqual(second, first)
  assert.deepEqual([(await given.request(first)).state, given.done], ['stale', []])
  await assert.rejects(given.decide(second, 'ida', 'approve'), { code: 'approver.not_permitted' })
  assert.deepEqual(await given.host.gateway.pendingFor('ida'), [])
  await given.decide(second, 'jo', 'approve')
  assert.equal((await given.ask()).outcome, 'success')
})

test('a yes of one who was revoked does not make up a quorum [H-55 H-56]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  for (const name of ['ida', 'jo', 'kai']) await given.person(name)
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  await revokePrincipal(given.ambit, operator(given.host.tenant), 'ida')
  assert.equal((await given.decide(id, 'jo', 'approve')).state, 'pending')
  assert.equal((await given.decide(id, 'kai', 'approve')).state, 'approved')
  assert.equal((await given.ask()).outcome, 'success')
})

test.each(['agent', 'service', 'automation'] as const)(
  'only people approve: not what is of kind %s [H-55]',
  async (kind) => {
    const given = await givenApprovals()
    await given.caller({ id: 'bot', kind })
    const wish = { principal: 'bot', roles: ['pharmacist'] }
    const refused = { code: 'approver.not_permitted' }
    await assert.rejects(addApprover(given.ambit, operator(given.host.tenant), wish), refused)
    // Nor does one count that is on record all the same.
    await given.person('ida')
    await given.ambit.store.write(
      given.host.tenant,
      approverRecords.amend('ida', (entry) => ({ ...entry, principal: 'bot' })),
    )
    await assert.rejects(given.decide(approvalIdOf(await given.ask()), 'bot', 'approve'), refused)
    assert.deepEqual(await given.host.gateway.pendingFor('bot'), [])
  },
)

test('a revoked person may come back with another entry [H-55]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  await revokeApprover(given.ambit, operator(given.host.tenant), 'ida')
  await given.person('ida', { id: 'ida-2', roles: ['pharmacist'] })
  await given.decide(approvalIdOf(await given.ask()), 'ida', 'approve')
  assert.equal((await given.ask()).outcome, 'success')
})

test('who is revoked decides under none of their entries, and evidence names each that ended [H-55]', async () => {
  const given = await givenApprovals()
  const me = operator(given.host.tenant)
  const revoked = async (id: string) => {
    await revokeApprover(given.ambit, me, id)
    const last = (await given.events()).findLast(({ event_type }) => event_type === 'ambit.approver.revoked')
    return (last?.payload as { readonly entries?: unknown } | undefined)?.entries
  }
  await given.person('ida')
  await given.person('ida', { id: 'ida-phone', roles: ['pharmacist'] })
  await given.person('jo')
  const id = approvalIdOf(await given.ask())
  assert.deepEqual(await revoked('ida'), ['ida', 'ida-phone'])
  await assert.rejects(given.decide(id, 'ida', 'approve'), { code: 'approver.not_permitted' })
  assert.deepEqual(await revoked('ida'), [])
  for (const entry of ['ida-2', 'ida-3']) await given.person('ida', { id: entry, roles: ['pharmacist'] })
  assert.deepEqual(await revoked('ida-2'), ['ida-2'])
  assert.deepEqual(await revoked('ida'), ['ida-3'])
  await assert.rejects(given.decide(id, 'ida', 'approve'), { code: 'approver.not_permitted' })
  assert.equal((await given.decide(id, 'jo', 'approve')).state, 'approved')
})

test('an id that names a person is that person, and never an entry of another person [H-55]', async () => {
  const given = await givenApprovals()
  const me = operator(given.host.tenant)
  const live = async () =>
    (await approversOf(given.ambit, me)).items
      .filter((each) => each.revoked_at === null)
      .map((each) => each.approver_id)
  const named = { id: 'jo', roles: ['pharmacist'] }
  await given.person('ida', named)
  await given.person('jo')
  assert.deepEqual(await live(), ['jo', 'jo/2'])
  for (let times = 0; times < 2; times++) {
    await revokeApprover(given.ambit, me, 'jo')
    assert.deepEqual(await live(), ['jo'])
  }
  await revokeApprover(given.ambit, me, 'ida')
  assert.deepEqual(await live(), [])
  await assert.rejects(given.person('kai', { ...named, id: 'ida' }), {
    code: 'field.invalid',
    data: { pointer: '/id' },
  })
})
