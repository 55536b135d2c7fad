// What a planner proposes and what a call of a step says and answers: the envelopes of the execution contract.

import { z } from 'zod'
import { objectDigest, ownTime } from '../evidence.ts'
import { jsonObject, jsonValue } from '../json.ts'
import { runId, traceId } from '../run-id.ts'
import { capabilityId, form, minted, prose } from '../text.ts'
import { contractId, principalLink, tier } from './context.ts'

const texts = z.array(z.string().max(1_024))
const names = z.array(contractId).max(64)

const planStep = z.strictObject({
  id: contractId,
  tool: capabilityId,
  params: jsonObject.describe('Each a literal, or `{"$expr": …}` over request, run and steps.'),
  depends_on: names.optional(),
  approval_mode: tier.optional(),
  requires: names.optional(),
  evidence_refs: texts.max(64).optional(),
})
export type PlanStep = z.infer<typeof planStep>

/** That its ids are unique and its steps acyclic is checked where a plan is read. */
export const plan = z.strictObject({
  plan_id: form(/^plan_[A-Za-z0-9]{1,64}$/u, '`plan_` and letters or digits'),
  intent: contractId,
  steps: z.array(planStep).max(64),
  decision_checkpoints: z.array(z.strictObject({ decision_id: contractId, after_step: contractId })).max(16),
})
export type Plan = z.infer<typeof plan>

export const idempotencyKey = form(/^ik_[a-z0-9]{16}$/u, '`ik_` and 16 lower-case letters or digits')
const toolCallId = minted('tool')
const policyDecisionId = z.string().max(128)

export const toolCallEnvelope = z.strictObject({
  envelope_version: z.literal('contextos.tool_call.v1'),
  tool_call_id: toolCallId,
  run_id: runId,
  trace_id: traceId,
  session_id: contractId.optional(),
  capability_id: capabilityId,
  args: jsonObject,
  principal_chain: z.array(principalLink).min(1).max(16),
  approval_mode_requested: tier,
  approval_mode_effective: tier,
  approval_mode_highest: tier,
  evidence_refs: texts,
  policy_decision_id: policyDecisionId.nullable().optional(),
  idempotency_key: idempotencyKey.nullable().optional(),
  auth_ref: form(/^claim_hash:sha256:[0-9a-f]{64}$/u, '`claim_hash:` and the hash of a claim')
    .nullable()
    .optional(),
  metadata: z
    .strictObject({
      arg_schema_ref: z.string().optional(),
      requires_approval_gate: z.string().optional(),
      protocol: z.string().optional(),
      version: z.string().optional(),
      ambit: z.strictObject({ approval_refs: texts.optional() }).optional(),
    })
    .optional(),
})

const toolError = z.strictObject({
  code: z.string(),
  message: prose,
  retryable: z.boolean(),
  remediation: prose.optional(),
  rule_id: z.string().optional(),
  pointer: z.string().optional(),
})

const ownResult = z.strictObject({
  idempotent_of: toolCallId.optional(),
  waits_for: z.string().optional(),
  lapses_at: ownTime.optional(),
  superseded_request_id: z.string().optional(),
})

const resultMetadata = z.strictObject({
  approver: z.string().optional(),
  approval_evidence_snapshot_hash: objectDigest.optional(),
  tool_transcript_id: z.string(),
  redaction_applied: z.boolean(),
  retries: z.int().min(0),
  cost_cents: z.number().min(0),
  ambit: ownResult.optional(),
})

const resultBase = {
  envelope_version: z.literal('contextos.tool_result.v1'),
  tool_call_id: toolCallId,
  run_id: runId,
  trace_id: traceId,
  session_id: contractId.optional(),
  capability_id: capabilityId,
  output: jsonValue.nullable(),
  artifacts: z.array(jsonValue),
  citations: z.array(z.strictObject({ evidence_ref: z.string() })),
  risk_tags: texts,
  policy_decision_id: policyDecisionId.nullable(),
  latency_ms: z.int().min(0),
  metadata: resultMetadata,
}

const mutations = z.array(z.string().max(1_024))
const noMutation = mutations.max(0)
const paused = z.strictObject({
  ...resultMetadata.shape,
  ambit: z.strictObject({ ...ownResult.shape, waits_for: z.string(), lapses_at: ownTime }),
})

/** One closed shape for each status, so that what contradicts it cannot be written down. */
export const toolResultEnvelope = z.discriminatedUnion('status', [
  z.strictObject({ ...resultBase, status: z.literal('ok'), error: z.null(), mutations: noMutation }),
  z.strictObject({ ...resultBase, status: z.literal('completed'), error: z.null(), mutations: mutations.min(1) }),
  z.strictObject({
    ...resultBase,
    ...{ status: z.literal('paused'), output: z.null(), error: toolError, mutations: noMutation, metadata: paused },
  }),
  z.strictObject({
    ...resultBase,
    ...{ status: z.enum(['blocked', 'rejected', 'failed']), output: z.null(), error: toolError, mutations: noMutation },
  }),
  z.strictObject({ ...resultBase, status: z.literal('error'), error: toolError, mutations }),
])
export type ToolStatus = z.infer<typeof toolResultEnvelope>['status']

export const policyDecision = z.strictObject({
  policy_decision_id: policyDecisionId,
  allowed: z.boolean(),
  reason: z.string(),
  effective_approval_mode: tier,
  requires_approval_gate: texts,
  requires: texts,
  prohibits: texts,
  matched_rule_ids: texts,
  policy_hash: objectDigest,
  undecided_rule_ids: texts,
})
