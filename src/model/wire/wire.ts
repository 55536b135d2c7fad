import { z } from 'zod'
import { approvalRequest } from '../approval.ts'
import { capabilityDescriptor } from '../capability.ts'
import { type Entry, gives, takes } from '../entry.ts'
import { hash, keyId, ownTime } from '../evidence.ts'
import { jsonObject } from '../json.ts'
import { form, line, prose } from '../text.ts'
import { wireId } from './correlation.ts'
import { denial } from './denial.ts'
import { mandateRevocation } from './mandate.ts'
import { chainWitness, storeHeadAnchor } from './statement.ts'

export const next = z.string().optional()
const accepted = z.literal(true)
const sequence = z.int().min(0)

/** What the protocol and our own interface over HTTP say, beside calls and evidence. */
export const wireShapes = {
  'anchor-list': gives('Heads of this host that were countersigned outside.', {
    anchors: z.array(storeHeadAnchor),
    next,
  }),
  'anchor-receipt': gives('An anchor was verified and kept.', { accepted, sequence, anchor_did: z.string() }),
  /** `grant` is the person's own signed yes. An edit is a yes to another `payload`, as a new request. */
  'approval-decision': takes('What one person says to one request.', {
    decision: z.enum(['approve', 'deny', 'edit']),
    rationale: prose.optional(),
    grant: jsonObject.optional(),
    payload: jsonObject.optional(),
  }),
  'approval-list': gives('The requests for approval that wait for a caller, newest first.', {
    approvals: z.array(approvalRequest),
    next,
  }),
  'call-preview': gives('What would be decided about a call now.', {
    outcome: z.enum(['allowed', 'denied', 'skipped']),
    gate: z.string().nullable(),
    denial: denial.nullable(),
    matched_rules: z.array(z.string()),
  }),
  'capability-list': gives('What a caller may call.', { capabilities: z.array(capabilityDescriptor) }),
  'chain-report': gives('Whether the chain of one correlation holds.', {
    valid: z.boolean(),
    correlation_id: wireId,
    event_count: z.int().min(0),
    verified_count: z.int().min(0),
    unverified_count: z.int().min(0),
    first_broken_sequence: z.int().min(0).nullable(),
    covered: z.enum(['yes', 'no', 'withheld']),
  }),
  health: gives('That a host is there, and which.', {
    status: z.literal('ok'),
    host_id: wireId,
    protocol: z.literal('chp'),
    version: line,
    host_version: line,
  }),
  /** `problem()` of the base writes it. */
  problem: gives('The body of every error answer of ours.', {
    type: form(/^urn:ambit:problem:[a-z_]+$/u, '`urn:ambit:problem:` and a code'),
    title: z.string(),
    status: z.int().min(400).max(599),
    code: form(/^[a-z_]+$/u, 'a code: lower-case words joined by `_`'),
    detail: z.string(),
    data: jsonObject.optional(),
    pointer: z.string().optional(),
    rule_id: z.string().optional(),
    remediation: z.string().optional(),
    trace_id: z.string().optional(),
  }),
  'revocation-list': gives('What is not to be believed any more.', {
    keys: z.array(keyId),
    mandates: z.array(mandateRevocation),
  }),
  'revocation-receipt': gives('A revocation was verified and kept.', {
    accepted,
    mandate_id: wireId,
    principal: wireId,
  }),
  'store-head': gives('One digest over the newest event of every correlation.', {
    host_id: wireId,
    scheme: z.literal('chp-store-head-v1'),
    sequence,
    store_head: hash,
    revocation_head: hash,
    at: ownTime,
  }),
  'wire-error': gives('What never became an invocation, and why.', {
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
  }),
  'witness-list': gives('What witnesses have said of this host.', { witnesses: z.array(chainWitness), next }),
  'witness-receipt': gives("A witness's statement was verified and kept.", { accepted, sequence, witness: wireId }),
} satisfies Record<string, Entry>

type Shape<Name extends keyof typeof wireShapes> = z.infer<(typeof wireShapes)[Name][1]>

export type Health = Shape<'health'>
export type ChainReport = Shape<'chain-report'>
export type StoreHead = Shape<'store-head'>
export type WitnessList = Shape<'witness-list'>
export type AnchorList = Shape<'anchor-list'>
export type WitnessReceipt = Shape<'witness-receipt'>
export type AnchorReceipt = Shape<'anchor-receipt'>
export type RevocationReceipt = Shape<'revocation-receipt'>
export type RevocationList = Shape<'revocation-list'>
export type WireError = Shape<'wire-error'>
export type CallPreview = Shape<'call-preview'>
export type ApprovalList = Shape<'approval-list'>
export type ApprovalDecision = Shape<'approval-decision'>
