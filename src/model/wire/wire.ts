import { z } from 'zod'
import { approvalRequest } from '../approval.ts'
import { capabilityDescriptor } from '../capability.ts'
import { hash, keyId, ownTime } from '../evidence.ts'
import { jsonObject } from '../json.ts'
import { form, line, prose } from '../text.ts'
import { wireId } from './correlation.ts'
import { denial } from './denial.ts'
import { mandateRevocation } from './mandate.ts'
import { chainWitness, storeHeadAnchor } from './statement.ts'

/** That a host is there, and which. It says nothing of what it offers. Closed. */
export const health = z.strictObject({
  status: z.literal('ok'),
  host_id: wireId,
  protocol: z.literal('chp'),
  version: line,
  host_version: line,
})

/** What a caller may call. Closed. */
export const capabilityList = z.strictObject({ capabilities: z.array(capabilityDescriptor) })

/** Whether the chain of one correlation holds, and whether who did what is protected with it. Closed. */
export const chainReport = z.strictObject({
  valid: z.boolean(),
  correlation_id: wireId,
  event_count: z.int().min(0),
  verified_count: z.int().min(0),
  unverified_count: z.int().min(0),
  first_broken_sequence: z.int().min(0).nullable(),
  covered: z.enum(['yes', 'no', 'withheld']),
})

/** One digest over the newest event of every correlation: what a witness countersigns. Closed. */
export const storeHead = z.strictObject({
  host_id: wireId,
  scheme: z.literal('chp-store-head-v1'),
  sequence: z.int().min(0),
  store_head: hash,
  revocation_head: hash,
  at: ownTime,
})

const accepted = z.literal(true)

/** That a witness's statement was verified and kept. Closed. */
export const witnessReceipt = z.strictObject({ accepted, sequence: z.int().min(0), witness: wireId })

/** That an anchor was verified and kept. Closed. */
export const anchorReceipt = z.strictObject({ accepted, sequence: z.int().min(0), anchor_did: z.string() })

/** That a revocation was verified and kept. Closed. */
export const revocationReceipt = z.strictObject({ accepted, mandate_id: wireId, principal: wireId })

/** One page of what witnesses have said of this host; `next` when there may be more. Closed. */
export const witnessList = z.strictObject({ witnesses: z.array(chainWitness), next: z.string().optional() })

/** One page of heads of this host that were countersigned outside; `next` when there may be more. Closed. */
export const anchorList = z.strictObject({ anchors: z.array(storeHeadAnchor), next: z.string().optional() })

/** What is not to be believed any more: keys of the host, and mandates. Closed. */
export const revocationList = z.strictObject({ keys: z.array(keyId), mandates: z.array(mandateRevocation) })

/** The body of an error answer of the protocol: what never became an invocation. Closed. */
export const wireError = z.strictObject({
  error: z.strictObject({ code: line, message: z.string() }),
  denial: z
    .strictObject({
      code: z.literal('version_unsupported'),
      message: z.string(),
      retryable: z.literal(false),
      requested: z.string(),
      supported: z.array(line),
    })
    .optional(),
})

/** What would be decided about a call now. Closed. */
export const callPreview = z.strictObject({
  outcome: z.enum(['allowed', 'denied', 'skipped']),
  gate: z.string().nullable(),
  denial: denial.nullable(),
  matched_rules: z.array(z.string()),
})

/** One page of the queue; `next` when there may be more. Closed. */
export const approvalList = z.strictObject({ approvals: z.array(approvalRequest), next: z.string().optional() })

/**
 * What one person says to one request; `grant` is their own signed yes. An edit is a yes to another `payload`: a new
 * request takes the place of the old one. Closed.
 */
export const approvalDecision = z.strictObject({
  decision: z.enum(['approve', 'deny', 'edit']),
  rationale: prose.optional(),
  grant: jsonObject.optional(),
  payload: jsonObject.optional(),
})

export type Health = z.infer<typeof health>
export type ChainReport = z.infer<typeof chainReport>
export type StoreHead = z.infer<typeof storeHead>
export type WitnessList = z.infer<typeof witnessList>
export type AnchorList = z.infer<typeof anchorList>
export type WitnessReceipt = z.infer<typeof witnessReceipt>
export type AnchorReceipt = z.infer<typeof anchorReceipt>
export type RevocationReceipt = z.infer<typeof revocationReceipt>
export type RevocationList = z.infer<typeof revocationList>
export type WireError = z.infer<typeof wireError>
export type CallPreview = z.infer<typeof callPreview>
export type ApprovalList = z.infer<typeof approvalList>
export type ApprovalDecision = z.infer<typeof approvalDecision>

/** The body of every error answer of ours, `application/problem+json`; `problem()` of the base writes it. Closed. */
export const problem = z.strictObject({
  type: form(/^urn:ambit:problem:[a-z_]+$/u, '`urn:ambit:problem:` and a code'),
  title: z.string(),
  status: z.int().min(400).max(599),
  code: form(/^[a-z_]+$/u, 'a code: lower-case words joined by `_`'),
  detail: z.string(),
  data: jsonObject.optional(),
  remediation: z.string().optional(),
  trace_id: z.string().optional(),
})
