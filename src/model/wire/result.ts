import { z } from 'zod'
import { limits } from '../../base/limits.ts'
import { foreignEvent, outcome, wireTime } from '../evidence.ts'
import { jsonValue } from '../json.ts'
import { line } from '../text.ts'
import { correlation, wireId } from './correlation.ts'
import { callError, denial } from './denial.ts'

/** `replayed` marks a recorded result given again. We always send the optional members, null when empty. */
export const invocationResult = z.strictObject({
  invocation_id: wireId,
  capability_id: wireId,
  correlation,
  evidence_ids: z.array(wireId),
  completed_at: wireTime,
  outcome,
  success: z.boolean(),
  capability_version: line.nullable().optional(),
  data: jsonValue.optional(),
  error: callError.nullable().optional(),
  denial: denial.nullable().optional(),
  started_at: wireTime.nullable().optional(),
  replayed: z.literal(true).optional(),
})

/** `since_sequence` means strictly after. */
export const replayQuery = z.strictObject({
  correlation_id: wireId,
  limit: z.int().min(1).max(limits.replayEventsMax).optional(),
  since_sequence: z.int().min(0).optional(),
  include_payloads: z.boolean().optional(),
})

/** An unknown correlation has no events. */
export const replayResult = z.strictObject({
  correlation_id: wireId,
  events: z.array(foreignEvent),
  event_count: z.int().min(0),
  replayed_at: wireTime,
  truncated: z.boolean().optional(),
  partial: z.boolean().optional(),
  missing_hosts: z.array(wireId).optional(),
})

export type InvocationResult = z.infer<typeof invocationResult>
export type ReplayQuery = z.infer<typeof replayQuery>
export type ReplayResult = z.infer<typeof replayResult>
