import assert from 'node:assert/strict'
import { expect, test, vi } from 'vitest'
import { approvalIdOf, givenApprovals, payload } from '../../../test/support/approvals.ts'
import { signerOf } from '../../../test/support/evidence.ts'
import { recordOf } from '../../../test/support/host.ts'
import type { Failure } from '../../base/failure.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import { exportBundle } from '../../runtime/evidence/export.ts'
import { operator } from '../../runtime/identity/caller.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import type { Decision } from './decide.ts'

const edited = { batch: 'B-1', minutes: 7 }
const edit: Decision = { decision: 'edit', payload: edited, rationale: 'only half of it' }

test('an edit puts a new request in the place of the old, and the original call carries out the edited payload once [H-54 H-57 H-58]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const old = await given.request(approvalIdOf(await given.ask()))
  const made = await given.decide(old.approval_id, 'ida', edit)
  assert.notEqual(made.approval_id, old.approval_id)
  assert.notEqual(made.invocation_digest, old.invocation_digest)
  assert.notEqual(made.payload_commitment, old.payload_commitment)
  assert.deepEqual([made.state, made.votes.map(({ approver }) => approver)], ['approved', ['ida']])
  assert.deepEqual(made.shown.find(({ name }) => name === 'minutes')?.value, 7)
  assert.equal((await given.request(old.approval_id)).state, 'stale')
  await assert.rejects(given.decide(old.approval_id, 'ida', 'approve'), { code: 'approval.stale' })

  const done = await given.ask(payload)
  assert.deepEqual([done.outcome, given.done], ['success', [edited]])
  assert.deepEqual([(await given.ask(payload)).replayed, given.done.length], [true, 1])
  assert.equal((await given.ask(edited)).denial?.details?.['reason'], 'invocation_id_reused')

  const own = (await given.events()).filter(({ correlation }) => correlation.correlation_id === 'task')
  assert.deepEqual(
    own.map((event) => [event.event_type, event.payload['edited' as never]]),
    [
      ['approval_requested', undefined],
      ['execution_denied', undefined],
      ['approval_requested', true],
      ['approval_granted', true],
      ['approval_grant_verified', undefined],
      ['execution_started', undefined],
      ['execution_completed', undefined],
    ],
  )
  assert.equal(recordOf(own.at(-1)).approval?.digest, made.invocation_digest)
  assert.notEqual(recordOf(own.at(-1)).input, recordOf(own[0]).input)
  const report = verifyBundle(
    JSON.parse(JSON.stringify(await exportBundle(given.ambit, operator(given.host.tenant), 'task'))),
  )
  assert.deepEqual([report.valid, report.covered], [true, 'yes'])
})

test('an editor is one vote: the others are asked about the edited call, and the caller is told the new request [H-54 H-56]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  for (const name of ['ida', 'jo', 'kai']) await given.person(name)
  const old = approvalIdOf(await given.ask())
  await given.decide(old, 'kai', 'approve')
  const made = await given.decide(old, 'ida', edit)
  assert.deepEqual([made.state, made.votes.length], ['pending', 1])
  const waiting = await given.ask()
  assert.deepEqual([approvalIdOf(waiting), waiting.replayed], [made.approval_id, true])
  await assert.rejects(given.decide(made.approval_id, 'ida', 'approve'), { code: 'approval.used' })
  const again = await given.decide(made.approval_id, 'jo', { decision: 'edit', payload: { ...edited, minutes: 3 } })
  await given.decide(again.approval_id, 'kai', 'approve')
  assert.equal((await given.ask()).outcome, 'success')
  assert.deepEqual(given.done, [{ ...edited, minutes: 3 }])
})

test.each(['redeemed', 'denied', 'expired'])(
  'what an editor wrote is gone once the request is %s [H-50 H-53]',
  async (state) => {
    const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
    await given.person('ida')
    await given.person('jo')
    const wish: Decision = { decision: 'edit', payload: { ...edited, patient: 'Nora Vik' } }
    const { approval_id: id } = await given.decide(approvalIdOf(await given.ask()), 'ida', wish)
    if (state === 'expired') given.clock.advance(900_000)
    else await given.decide(id, 'jo', state === 'denied' ? 'deny' : 'approve')
    await given.host.gateway.tidyUp()
    await given.ask()
    const stored = await given.ambit.store.read(() => approvalRecords.get(given.host.tenant, id))
    assert.deepEqual([stored.request.state, JSON.stringify(stored).includes('Nora')], [state, false])
    const decided = (await given.events()).find(({ event_type }) => /^approval_(granted|denied)$/.test(event_type))
    assert.equal(decided?.payload['edited' as never], true)
  },
)

test('after an edit a no is a no, and a change of the call still voids the yes [H-54 H-56]', async () => {
  const denied = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  await denied.person('ida')
  await denied.person('jo')
  const made = await denied.decide(approvalIdOf(await denied.ask()), 'ida', edit)
  await denied.decide(made.approval_id, 'jo', 'deny')
  assert.equal((await denied.ask()).denial?.details?.['reason'], 'approval_denied')

  const given = await givenApprovals()
  await given.person('ida')
  await given.decide(approvalIdOf(await given.ask()), 'ida', edit)
  const changed = await given.ask(payload, { actor: { id: 'another' } })
  assert.equal(changed.denial?.code, 'approval_required')
  assert.deepEqual(given.done, [])
  await given.decide(approvalIdOf(changed), 'ida', 'approve')
  assert.equal((await given.ask(payload, { actor: { id: 'another' } })).outcome, 'success')
  assert.deepEqual(given.done, [edited])
})

test.each([
  ['does not validate', { minutes: 7 }, 'approval_required', /^the payload does not .*: `batch` is missing$/],
  ['a rule refuses', { ...payload, minutes: 100 }, 'policy_blocked', / wait for approval: .* \(policy_blocked\)$/],
  ['has a fraction', { ...payload, minutes: 1.5 }, 'input_schema_validation_failed', / must be an integer$/],
  ['needs no approval', { ...payload, minutes: 0 }, null, / wait for approval: it needs none$/],
])('an edit that %s is refused with the reason, and the request stays [H-54 H-59]', async (_, wish, reason, why) => {
  const given = await givenApprovals()
  await given.person('ida')
  const id = approvalIdOf(await given.ask())
  await assert.rejects(
    given.decide(id, 'ida', { decision: 'edit', payload: wish }),
    ({ code, data, message }: Failure) => {
      assert.deepEqual([code, data['reason']], ['field.invalid', reason])
      assert.match(message, why)
      return true
    },
  )
  assert.equal((await given.request(id)).state, 'pending')
  const all = await given.ambit.store.read(() => approvalRecords.list(given.host.tenant))
  assert.equal(all.items.length, 1)
})

test('only those who may decide may edit, and not about a call of their own [H-55]', async () => {
  const given = await givenApprovals()
  await given.person('kai', { roles: ['accountant'] })
  await given.person('ida')
  const id = approvalIdOf(await given.ask(payload, { actor: { id: 'ida' } }))
  await assert.rejects(given.decide(id, 'kai', edit), { code: 'approver.not_permitted' })
  await assert.rejects(given.decide(id, 'ida', edit), { code: 'approval.self' })
})

test('an editor with a key of their own signs for the new request [H-54]', async () => {
  const given = await givenApprovals()
  const key = signerOf(0xa1)
  await given.person('ida', { roles: ['pharmacist'], publicKey: key.publicKey })
  const made = await given.decide(approvalIdOf(await given.ask()), 'ida', edit)
  assert.deepEqual([made.state, made.votes], ['pending', []])
  await given.decide(made.approval_id, 'ida', { decision: 'approve', grant: given.grant(made, key) as never })
  assert.equal((await given.ask()).outcome, 'success')
  assert.deepEqual(given.done, [edited])
})

test('who waits is told at once when the decision falls, and follows an edit [H-57]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  await given.person('ida')
  await given.person('jo')
  const id = approvalIdOf(await given.ask())
  const { waitForDecision } = given.host.gateway
  const waiting = waitForDecision(id)
  const made = await given.decide(id, 'ida', edit)
  await given.decide(made.approval_id, 'jo', 'approve')
  expect(await waiting).toMatchObject({ approval_id: made.approval_id, state: 'approved' })
  assert.equal((await waitForDecision(id)).state, 'approved')
  assert.equal((await given.ask()).outcome, 'success')
})

test('who waits sees what another process has decided [H-57]', async () => {
  const given = await givenApprovals()
  const id = approvalIdOf(await given.ask())
  const waiting = given.host.gateway.waitForDecision(id)
  await given.ambit.store.write(
    given.host.tenant,
    approvalRecords.amend(id, (stored) => ({ ...stored, request: { ...stored.request, state: 'denied' } })),
  )
  assert.equal((await waiting).state, 'denied')
})

test('a wait ends with its time, its signal or the gateway, and leaves the request alone [H-57]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const id = approvalIdOf(await given.ask())
  const { waitForDecision } = given.host.gateway
  assert.equal((await waitForDecision(id, { timeoutMs: 5 })).state, 'pending')
  const abort = new AbortController()
  const aborted = assert.rejects(waitForDecision(id, { signal: abort.signal }), /enough/)
  abort.abort(new Error('enough'))
  await aborted
  await assert.rejects(waitForDecision(id, { signal: abort.signal }), /enough/)
  await assert.rejects(waitForDecision('apr_none'), { code: 'approval.not_found' })
  const left = waitForDecision(id)
  await vi.waitFor(() => given.host.gateway.close())
  assert.equal((await left).state, 'pending')
})
