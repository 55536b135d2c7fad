import assert from 'node:assert/strict'
import { test } from 'vitest'
import { givenAmbit, givenTenant } from '../../test/cli/given.ts'
import { capability, qualityRelease, recordedCall } from '../../test/support/policy-example.ts'
import type { AttemptRecord } from '../model/evidence.ts'
import { compilePolicies } from '../policy/policies.ts'
import { type EventInput, record } from './record.ts'
import { shadowDecisions } from './shadow.ts'

const { context, basis, policy, decision, approval } = recordedCall.record
const held = { context, basis, policy, decision, approval } as AttemptRecord
const event: EventInput = { event_type: 'noted', payload: {}, correlation: { correlation_id: 'c' } }
const call: EventInput = { ...event, event_type: 'execution_denied', capability_id: capability, record: held }
const set = compilePolicies([qualityRelease])

test('recorded decisions are found however far back they lie, newest first [H-49]', async () => {
  const ambit = await givenAmbit()
  const caller = await givenTenant(ambit)
  await record(ambit, caller, [{ ...call, invocation_id: 'inv_old' }])
  for (let batch = 0; batch < 2; batch++)
    await record(
      ambit,
      caller,
      Array.from({ length: 600 }, () => event),
    )
  await record(ambit, caller, [{ ...call, invocation_id: 'inv_new' }])
  const found = await shadowDecisions(ambit, caller, set)
  assert.deepEqual(
    found.map(({ invocation_id, answer }) => [invocation_id, answer.is]),
    [
      ['inv_new', 'equal'],
      ['inv_old', 'equal'],
    ],
  )
})

test('recorded decisions are told apart by task and call, and those of another tenant are not seen [H-49 F-09]', async () => {
  const ambit = await givenAmbit()
  const caller = await givenTenant(ambit)
  const other = await givenTenant(ambit, { id: 'other' })
  const elsewhere = { ...call, invocation_id: 'inv_1', correlation: { correlation_id: 'd' } }
  await record(ambit, caller, [{ ...call, invocation_id: 'inv_1' }, elsewhere])
  assert.equal((await shadowDecisions(ambit, caller, set)).length, 2)
  assert.equal((await shadowDecisions(ambit, caller, set, { correlation: 'd' })).length, 1)
  assert.deepEqual(await shadowDecisions(ambit, other, set), [])
})

test('recorded decisions are for those who may audit [H-49 F-09]', async () => {
  const ambit = await givenAmbit()
  const caller = await givenTenant(ambit)
  await assert.rejects(shadowDecisions(ambit, { ...caller, rights: [] }, set), { code: 'caller.not_permitted' })
})
