// The worked example as the rule language sees it: two pharmacists release a batch that was ever too warm.

import { contextContract } from '../../src/model/context.ts'
import { callRecord } from '../../src/model/evidence.ts'
import { policy } from '../../src/model/policy.ts'
import type { Facts } from '../../src/policy/conditions/values.ts'
import type { RecordedCall } from '../../src/policy/shadow.ts'
import * as example from './evidence-example.ts'

export const capability = example.descriptor.id
export const qualityRelease = policy.parse(example.policy)
export const batchContract = contextContract.parse(example.descriptor.metadata.context)

/** The facts of a call that wants a batch released. */
export const batchFacts = (excursion_minutes: number, purpose: string): Facts => ({
  subject: { id: 'stock-planner', type: 'api_key', verified: true, tenant: 'northlight' },
  actor: { id: 'agent://stock-planner', type: 'agent' },
  context: { excursion_minutes, purpose, consignee: 'Clinic 88' },
  purpose,
  environment: 'prod',
  capability: { id: capability, version: '2.1.0' },
  now: '2026-06-16T15:00:00.000Z',
})

/** The call as its evidence has it: 14 minutes too warm, a shortage, held for approval. */
export const recordedCall: RecordedCall = {
  capabilityId: capability,
  timestamp: '2026-06-16T15:00:00.000Z',
  record: callRecord.parse(example.record),
}
