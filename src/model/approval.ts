import { z } from 'zod'
import { hash, keyId, objectDigest, ownTime, publicKey, signatureObject, signatureText, wireTime } from './evidence.ts'
import { actor, subject } from './identity/subject.ts'
import { jsonValue } from './json.ts'
import { id, line, minted, prose } from './text.ts'
import { correlation, wireId } from './wire/correlation.ts'

export const approvalState = z.enum(['pending', 'approved', 'denied', 'expired', 'withdrawn', 'stale', 'redeemed'])

const approvalId = minted('apr')

export const vote = z.strictObject({
  signature_id: minted('sig'),
  request_id: approvalId,
  approver: id,
  approver_roles: z.array(id),
  decision: z.enum(['approve', 'deny']),
  rationale: prose,
  call_digest: objectDigest,
  evidence_snapshot_hash: objectDigest.nullable(),
  decided_at: ownTime,
  signature: signatureText,
})

/** Where a payload fails its schema, by path and keyword: a validator never quotes the value. */
const inputProblem = z.strictObject({ path: z.string(), keyword: z.string() })

/** People who must agree: so many different ones of those who have a role or are named; of anybody, if none is. */
const demand = z.strictObject({ roles: z.array(id), approvers: z.array(id), quorum: z.int().min(1) })

/** Minted by the host for one exact call, decided by people, redeemed once. Every other form of it is a view. */
export const approvalRequest = z.strictObject({
  approval_id: approvalId,
  state: approvalState,
  created_at: ownTime,
  expires_at: ownTime,
  invocation_id: wireId,
  correlation,
  capability: z.strictObject({ id: wireId, version: line }),
  policy: z.strictObject({ name: line, version: line, statement: prose }),
  requested_by: subject,
  actor: actor.nullable(),
  purpose: line.nullable(),
  shown: z.array(z.strictObject({ name: line, value: jsonValue })),
  payload_commitment: hash,
  invocation_digest: objectDigest,
  /** Every demand must be met: this one, and those of other rules beside it. */
  required: demand.extend({ also: z.array(demand).optional() }),
  votes: z.array(vote),
  preview: z.strictObject({ input_valid: z.boolean(), problems: z.array(inputProblem) }),
  decided_at: ownTime.nullable(),
  redeemed_at: ownTime.nullable(),
})

/** `key_id` is computed from the key. */
export const approver = z.strictObject({
  approver_id: id,
  principal: id,
  roles: z.array(id),
  public_key: publicKey,
  key_id: keyId,
  custody: z.enum(['self', 'host']),
  valid_from: ownTime,
  valid_until: ownTime.nullable(),
  revoked_at: ownTime.nullable(),
})

/** The optional members are signed when present. */
export const approvalGrant = z.strictObject({
  kind: z.literal('approval-grant'),
  approval_id: wireId,
  invocation_id: wireId,
  decision: z.literal('granted'),
  approver: keyId,
  valid_until: wireTime,
  payload_commitment: line,
  canonicalization: z.literal('chp-stable-v1'),
  approver_identity: z.strictObject({ host_id: wireId, public_key: publicKey }),
  signature: signatureObject,
  invocation_digest: line.optional(),
  action_digest: line.optional(),
  binding_id: wireId.optional(),
  audience: wireId.optional(),
  max_attempts: z.literal(1).optional(),
})

export type Vote = z.infer<typeof vote>
export type Demand = z.infer<typeof demand>
export type ApprovalRequest = z.infer<typeof approvalRequest>
export type Approver = z.infer<typeof approver>
export type ApprovalGrant = z.infer<typeof approvalGrant>
