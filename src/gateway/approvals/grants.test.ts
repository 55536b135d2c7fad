import assert from 'node:assert/strict'
import { test } from 'vitest'
import { approvalIdOf, type GivenApprovals, givenApprovals, payload } from '../../../test/support/approvals.ts'
import { signerOf } from '../../../test/support/evidence.ts'
import { signGrant } from '../../../test/support/evidence-statements.ts'
import { recordOf, typesOf } from '../../../test/support/host.ts'

const _minute = 60_000
const typesIn = async ({ events }: GivenApprovals) =>
  typesOf((await events()).filter(({ correlation }) => correlation.correlation_id === 'task'))
const _reasonOf = ({ denial }: { denial?: { details?: Record<string, unknown> | undefined } | null | undefined }) =>
  denial?.details?.['reason']

test('a capability that may need people takes no fractions, at gate 6 in place of asking and at gate 7 otherwise [H-54]', async () => {
  const loose = { type: 'object' }
  const given = await givenApprovals(undefined, { input: loose })
  for (const [minutes, gate] of [
    [14, 6],
    [0, 7],
  ] as const) {
    const { denial } = await given.ask({ minutes, weight: 1.5 }, { invocation_id: `inv-${gate}` })
    assert.deepEqual([denial?.code, denial?.invariant_id], ['invariant_failed', 'ambit.no_fractions'])
    assert.equal(recordOf((await given.events()).at(-1)).basis?.at(-1)?.gate, gate)
  }
})

test('a grant of one’s own key counts in the call and in the decision; nothing else of that person does [H-54 H-55 H-59]', async () => {
  const given = await givenApprovals()
  const key = signerOf(0xa1)
  await given.person('ida', { roles: ['pharmacist'], publicKey: key.publicKey })
  const request = await given.request(approvalIdOf(await given.ask()))
  await assert.rejects(given.decide(request.approval_id, 'ida', 'approve'), { code: 'approver.not_permitted' })
  for (const wrong of [
    given.grant(request, signerOf(7)),
    given.grant(request, key, { invocation_id: 'inv-2' }),
    given.grant(request, key, { audience: 'elsewhere' }),
    given.grant(request, key, { payload_commitment: '0'.repeat(64) }),
    given.grant(request, key, { invocation_digest: `sha256:${'0'.repeat(64)}` }),
    given.grant(request, key, { valid_until: '2026-06-16T14:59:59.999Z' }),
    { ...(given.grant(request, key) as object), max_attempts: 2 } as never,
    'no grant',
  ]) {
    await assert.rejects(given.decide(request.approval_id, 'ida', { decision: 'approve', grant: wrong as never }))
    if (typeof wrong === 'object')
      assert.equal((await given.ask(payload, { approval_ref: wrong })).denial?.code, 'approval_required')
  }
  assert.deepEqual(given.done, [])
  const done = await given.ask(payload, { approval_ref: [given.grant(request, key)] })
  assert.equal(done.outcome, 'success')
  assert.deepEqual(recordOf((await given.events()).at(-1)).approval?.approvers, [
    { key_id: key.keyId, name: 'ida', role: 'pharmacist', custody: 'self' },
  ])
  assert.deepEqual((await typesIn(given)).slice(2), [
    ...['approval_granted', 'approval_grant_verified', 'execution_started', 'execution_completed'],
  ])
})

test('a grant that is not good is refused with the decision it came with, for every decision [H-54 H-55]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const request = await given.request(approvalIdOf(await given.ask()))
  const decide = (decision: 'approve' | 'deny' | 'edit', grant: unknown) =>
    given.decide(request.approval_id, 'ida', { decision, grant, payload } as never)
  for (const grant of [{}, { kind: 'approval-grant' }, given.grant(request, signerOf(7))])
    await assert.rejects(decide('approve', grant), { code: 'approver.not_permitted' })
  for (const decision of ['deny', 'edit'] as const)
    await assert.rejects(decide(decision, given.grant(request, signerOf(7))), { code: 'field.invalid' })
  assert.deepEqual((await given.request(request.approval_id)).votes, [])
  assert.equal((await given.decide(request.approval_id, 'ida', 'approve')).state, 'approved')
})

test('a grant given with the decision is kept for the call [H-54 H-58]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  const key = signerOf(0xa1)
  await given.person('ida', { roles: ['pharmacist'], publicKey: key.publicKey })
  await given.person('jo')
  const request = await given.request(approvalIdOf(await given.ask()))
  await given.decide(request.approval_id, 'ida', { decision: 'approve', grant: given.grant(request, key) as never })
  assert.equal((await given.decide(request.approval_id, 'jo', 'approve')).state, 'approved')
  assert.equal((await given.ask()).outcome, 'success')
})

test('a minimal grant of the protocol counts only where the policy says so [H-54]', async () => {
  for (const bind of [undefined, 'protocol'] as const) {
    const given = await givenApprovals({ roles: ['pharmacist'], ...(bind && { bind }) })
    const key = signerOf(0xa1)
    await given.person('ida', { roles: ['pharmacist'], publicKey: key.publicKey })
    const request = await given.request(approvalIdOf(await given.ask()))
    const { approval_id, invocation_id, payload_commitment, expires_at: valid_until } = request
    const grant = signGrant({ approval_id, invocation_id, payload_commitment, valid_until }, key)
    const { outcome } = await given.ask(payload, { approval_ref: grant })
    assert.equal(outcome, bind === 'protocol' ? 'success' : 'denied')
  }
})
