// One call of `invokeAgent`, field for field.

import { z } from 'zod'
import { tenantIdText } from '../identity/tenant.ts'
import { jsonObject } from '../json.ts'
import { runId } from '../run-id.ts'
import { form, line } from '../text.ts'
import { agentMembers, contractId, contractUser, partialClaim, principalLink, runBudget, tier } from './context.ts'

const positive = z.int().min(1)

export const runMode = z.enum(['stream', 'batch', 'long_running'])
export type RunMode = z.infer<typeof runMode>

/** A handle to a token is set by trusted code, never by a request. */
const { token_ref: _, ...askedAgent } = agentMembers

const attachment = z.strictObject({
  artifact_id: form(/^art_[A-Za-z0-9_]{1,120}$/u, '`art_` and letters, digits or _'),
  media_type: line,
  sha256: line,
  uri: z.string().max(4_096),
})
export type Attachment = z.infer<typeof attachment>

/** What is wrong with refs, trace, claim and attachments is said by the step of the entry that reads them. */
export const invokeRequest = z.strictObject({
  request_id: contractId,
  tenant_id: tenantIdText,
  session_id: contractId.optional(),
  user: contractUser,
  agent: z.strictObject({
    ...askedAgent,
    agent_urn: askedAgent.agent_urn.optional(),
    principal_chain: z.array(principalLink).min(1).max(16).optional(),
    identity_claim: partialClaim.optional(),
  }),
  context_pack_refs: z.array(z.string().max(256)).max(16),
  input: z.strictObject({
    intent: z.string().max(128),
    message: z.string(),
    channel: line.optional(),
    locale: line.optional(),
    context: jsonObject.optional(),
  }),
  mode: runMode,
  runtime: z.strictObject({
    plan_timeout_ms: positive.optional(),
    max_session_duration_ms: positive.optional(),
    max_tool_calls: positive.optional(),
    max_payload_bytes: positive.optional(),
    max_cost_cents: z.number().gt(0).optional(),
  }),
  attachments: z.array(attachment).max(32).optional(),
  trace: z.strictObject({
    trace_id: z.string().max(64),
    span_id: z.string().max(64),
    trace_flags: z.string().max(8).optional(),
    tracestate: z.string().max(512).optional(),
    baggage: z.string().max(8_192).optional(),
  }),
})
export type InvokeRequest = z.infer<typeof invokeRequest>

/** What trusted code says beside a request. */
export const trustedContext = z.strictObject({
  run_id: runId.optional(),
  safety_mode: tier.optional(),
  run_budget: runBudget.partial().optional(),
  planner: contractId.optional().describe('`playbook`, `model`, or a configured one.'),
  context: z.unknown().optional(),
})
export type TrustedContext = z.infer<typeof trustedContext>
