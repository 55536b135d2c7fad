import assert from 'node:assert/strict'
import { test } from 'vitest'
import { approvalIdOf, type GivenApprovals, givenApprovals, payload } from '../../../test/support/approvals.ts'
import { limits } from '../../base/limits.ts'

const asking = { capability_id: 'depot.release', payload }
const askedAs = ({ ask }: GivenApprovals, invocation_id: string, more: object = {}) =>
  ask(payload, { invocation_id, ...more })

test('who makes a call again finds people’s yes to it, else their no, else what waits; until that is over [H-57]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const waiting = () => given.host.gateway.waitingCall(given.planner, asking)
  assert.equal(await waiting(), undefined)
  const [first, second] = [await askedAs(given, 'first'), await askedAs(given, 'second')].map(approvalIdOf)
  assert.equal(await waiting(), 'second')
  await given.decide(first ?? '', 'ida', 'deny')
  assert.equal(await waiting(), 'first')
  await given.decide(second ?? '', 'ida', { decision: 'edit', payload: { ...payload, batch: 'B-2' } })
  assert.equal(await waiting(), 'second')
  assert.equal((await askedAs(given, 'second')).success, true)
  assert.equal(await waiting(), 'first')
  given.clock.advance(3_600_000)
  assert.equal(await waiting(), undefined)
})

test('what another caller, another actor or another payload asks for is not what waits [H-57]', async () => {
  const given = await givenApprovals()
  const other = await given.caller({ id: 'other', kind: 'agent' })
  const actor = { id: 'agent://helper', type: 'agent' }
  await askedAs(given, 'plain')
  await askedAs(given, 'acting', { actor })
  const { gateway } = given.host
  assert.deepEqual(
    [
      await gateway.waitingCall(given.planner, asking),
      await gateway.waitingCall(given.planner, { ...asking, actor }),
      await gateway.waitingCall(given.planner, { ...asking, payload: { ...payload, batch: 'B-2' } }),
      await gateway.waitingCall(other, asking),
    ],
    ['plain', 'acting', undefined, undefined],
  )
})

test('a caller has so many requests that wait for people and no more, however many it makes at once [H-80]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const max = limits.pendingRequestsPerCallerMax
  const made = await Promise.all(Array.from({ length: max + 5 }, (_, index) => askedAs(given, `inv-${index}`)))
  const codesOf = made.map(({ denial }) => denial?.code)
  const refused = made.filter(({ denial }) => denial?.code === 'budget_exceeded')
  assert.deepEqual([codesOf.filter((code) => code === 'approval_required').length, refused.length], [max, 5])
  assert.deepEqual(refused[0]?.denial, {
    code: 'budget_exceeded',
    message: `${max} calls of this caller wait for people, and no more may`,
    retryable: true,
    details: {
      limit: 'pending_requests',
      used: max,
      max,
      required_next_action: 'wait until people have decided about some of them, then call with a new invocation_id',
    },
  })
  const other = await given.caller({ id: 'other', kind: 'agent' })
  assert.equal((await given.call(other, asking)).denial?.code, 'approval_required')
  const [asked] = made.filter(({ denial }) => denial?.code === 'approval_required')
  assert(asked)
  const edited = { ...payload, batch: 'B-2' }
  await given.decide(approvalIdOf(asked), 'ida', { decision: 'edit', payload: edited })
  assert.equal((await askedAs(given, asked.invocation_id)).success, true)
  assert.equal((await askedAs(given, 'in its place')).denial?.code, 'approval_required')
  assert.equal((await askedAs(given, 'one more')).denial?.code, 'budget_exceeded')
  given.clock.advance(3_600_000)
  assert.equal((await askedAs(given, 'when those are over')).denial?.code, 'approval_required')
})
