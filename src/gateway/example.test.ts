import assert from 'node:assert/strict'
import { test } from 'vitest'
import * as example from '../../test/support/evidence-example.ts'
import { givenHost } from '../../test/support/host.ts'
import { verifyBundle } from '../evidence/verify/verify.ts'
import { capabilityDescriptor } from '../model/capability.ts'
import { policy } from '../model/policy.ts'
import { exportBundle } from '../runtime/evidence/export.ts'
import { addApprover } from '../runtime/identity/approvers.ts'
import { operator } from '../runtime/identity/caller.ts'
import { describedCapability } from './capability.ts'

const envelope = structuredClone(example.envelope) as unknown as Record<string, unknown>

async function givenDepot() {
  let released = 0
  const release = describedCapability(capabilityDescriptor.parse(structuredClone(example.descriptor)), () => {
    released++
    return { slot: 'S-9' }
  })
  const given = await givenHost({ capabilities: [release], policies: [policy.parse(structuredClone(example.policy))] })
  const planner = await given.caller({ id: 'stock-planner', kind: 'agent', permissions: ['stock:release'] })
  const me = operator(given.host.tenant)
  const people = await Promise.all(['ida', 'jo', 'kai'].map((id) => given.caller({ id, kind: 'user' })))
  for (const id of ['ida', 'jo'])
    await addApprover(given.ambit, me, { principal: id, roles: ['responsible_pharmacist'] })
  await addApprover(given.ambit, me, { principal: 'kai', roles: ['accountant'] })
  const decide = (id: string, name: string, decision: 'approve' | 'deny') => {
    const by = people.find(({ subject }) => subject?.id === name)
    assert(by?.subject)
    return given.host.gateway.decide(id, { principal: name, subject: by.subject }, { decision })
  }
  return { ...given, planner, me, decide, released: () => released }
}

test('a cold store releases a batch: asked, denied, approved by two, executed once, on record, verified [H-12 H-17 H-47 H-48 H-51 H-52 H-57 H-58]', async () => {
  const { planner, call, decide, events, released, ambit, me } = await givenDepot()
  const denied = await call(planner, envelope)
  assert.equal(denied.outcome, 'denied')
  const id = String(denied.denial?.details?.['approval_id'])
  assert.deepEqual(
    {
      ...denied.denial,
      details: {
        ...denied.denial?.details,
        approval_id: 'apr_31',
        expires_at: undefined,
        quorum: undefined,
        roles: undefined,
      },
    },
    {
      ...example.denial,
      details: { ...example.denial.details, expires_at: undefined, quorum: undefined, roles: undefined },
    },
  )
  assert.equal((await call(planner, envelope)).replayed, true)
  await assert.rejects(decide(id, 'kai', 'approve'), { code: 'approver.not_permitted' })
  await decide(id, 'ida', 'approve')
  assert.equal((await call(planner, envelope)).denial?.code, 'approval_required')
  await decide(id, 'jo', 'approve')
  await assert.rejects(decide(id, 'ida', 'approve'), { code: 'approval.used' })

  const done = await call(planner, envelope)
  assert.deepEqual([done.outcome, done.data, released()], ['success', { slot: 'S-9' }, 1])
  const again = await call(planner, envelope)
  assert.deepEqual([again.replayed, again.data, released()], [true, { slot: 'S-9' }, 1])
  const other = await call(planner, { ...envelope, payload: { ...example.envelope.payload, excursion_minutes: 15 } })
  assert.equal(other.denial?.details?.['reason'], 'invocation_id_reused')

  const own = (await events()).filter((event) => event.correlation.correlation_id === 'run-5521')
  assert.deepEqual(
    own.map((event) => event.event_type),
    [
      'approval_requested',
      'execution_denied',
      'approval_granted',
      'approval_grant_verified',
      'approval_grant_verified',
      'execution_started',
      'execution_completed',
    ],
  )
  assert.equal(JSON.stringify(own).includes('Troms'), false)
  const bundle = await exportBundle(ambit, me, 'run-5521')
  const report = verifyBundle(JSON.parse(JSON.stringify(bundle)))
  assert.deepEqual([report.valid, report.covered], [true, 'yes'])
})
