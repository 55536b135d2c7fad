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

export const health = z.strictObject({
  status: z.literal('ok'),
  host_id: wireId,
  protocol: z.literal('chp'),
  version: line,
  host_version: line,
})

export const capabilityList = z.strictObject({ capabilities: z.array(capabilityDescriptor) })

export const chainReport = z.strictObject({
  valid: z.boolean(),
  correlation_id: wireId,
  event_count: z.int().min(0),
  verified_count: z.int().min(0),
  unverified_count: z.int().min(0),
  first_broken_sequence: z.int().min(0).nullable(),
  covered: z.enum(['yes', 'no', 'withheld']),
})

export const storeHead = z.strictObject({
  host_id: wireId,
  scheme: z.literal('chp-store-head-v1'),
  sequence: z.int().min(0),
  store_head: hash,
  revocation_head: hash,
  at: ownTime,
})

const accepted = z.literal(true)

export const witnessReceipt = z.strictObject({ accepted, sequence: z.int().min(0), witness: wireId })

export const anchorReceipt = z.strictObject({ accepted, sequence: z.int().min(0), anchor_did: z.string() })

export const revocationReceipt = z.strictObject({ accepted, mandate_id: wireId, principal: wireId })

export const witnessList = z.strictObject({ witnesses: z.array(chainWitness), next: z.string().optional() })

export const anchorList = z.strictObject({ anchors: z.array(storeHeadAnchor), next: z.string().optional() })

export const revocationList = z.strictObject({ keys: z.array(keyId), mandates: z.array(mandateRevocation) })

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

export const callPreview = z.strictObject({
  outcome: z.enum(['allowed', 'denied', 'skipped']),
  gate: z.string().nullable(),
  denial: denial.nullable(),
  matched_rules: z.array(z.string()),
})

export const approvalList = z.strictObject({ approvals: z.array(approvalRequest), next: z.string().optional() })

/** `grant` is the person's own signed yes. An edit is a yes to another `payload`, as a new request. */
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

/** `problem()` of the base writes it. */
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
