import { z } from 'zod'
import { approvalGrant } from '../approval.ts'
import { callMode } from '../capability.ts'
import { wireTime } from '../evidence.ts'
import { givenActor, subject } from '../identity/subject.ts'
import { jsonObject } from '../json.ts'
import { line, semver, word } from '../text.ts'
import { givenCorrelation, wireId } from './correlation.ts'
import { mandate } from './mandate.ts'

const binding = z.strictObject({
  id: wireId.optional(),
  version: line.optional(),
  capability: z.strictObject({ id: wireId.optional(), version: line.optional() }).optional(),
  provider: z.strictObject({ id: wireId.optional() }).optional(),
  host: z.strictObject({ id: wireId.optional() }).optional(),
})

/** Where context, purpose and audience of a call lie. Open. */
const envelopeMetadata = z.looseObject({
  context: jsonObject.optional(),
  purpose: line.optional(),
  audience: wireId.optional(),
  evidence_snapshot: line.optional(),
})

export const invocationEnvelope = z.strictObject({
  capability_id: wireId,
  invocation_id: wireId,
  mode: callMode,
  payload: jsonObject,
  requested_at: wireTime,
  subject,
  correlation: givenCorrelation,
  actor: givenActor.optional(),
  mandate: mandate.optional(),
  binding: binding.optional(),
  version: semver.nullable().optional(),
  metadata: envelopeMetadata.optional(),
  requested_capability_version: line.optional(),
  require_output_schema: z.boolean().optional(),
  approval_ref: z.union([approvalGrant, z.array(approvalGrant)]).optional(),
})

/**
 * All but the capability may be absent and is then filled in. What a gate refuses is let through to it: an unknown mode
 * or version, a time that is none, asserted identity, a malformed mandate or grant.
 */
export const receivedEnvelope = z.strictObject({
  capability_id: wireId,
  invocation_id: wireId.optional(),
  mode: word.optional(),
  payload: jsonObject.optional(),
  requested_at: word.optional(),
  subject: jsonObject.optional(),
  correlation: givenCorrelation.partial({ correlation_id: true }).optional(),
  correlation_id: wireId.optional(),
  actor: givenActor.optional(),
  mandate: jsonObject.optional(),
  binding: binding.optional(),
  version: word.nullable().optional(),
  metadata: jsonObject.optional(),
  requested_capability_version: word.optional(),
  require_output_schema: z.boolean().optional(),
  approval_ref: z.union([jsonObject, z.array(jsonObject)]).optional(),
})

export type InvocationEnvelope = z.infer<typeof invocationEnvelope>
export type ReceivedEnvelope = z.infer<typeof receivedEnvelope>
