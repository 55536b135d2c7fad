import { z } from 'zod'
import type { Json } from '../base/canonical.ts'
import { type Actor, actor, subject } from './identity/subject.ts'
import { form } from './text.ts'
import { correlation, wireId } from './wire/correlation.ts'
import { callError, denial } from './wire/denial.ts'

export const hash = form(/^[0-9a-f]{64}$/u, 'a SHA-256 in hex')
/** The hash of an object of ours. */
export const objectDigest = form(/^sha256:[0-9a-f]{64}$/u, '`sha256:` and 64 hex digits')
/** A digest under a tenant's key. */
const keyedDigest = form(/^hmac-sha256:[0-9a-f]{64}$/u, '`hmac-sha256:` and 64 hex digits')
/** First 16 hex digits of SHA-256 over a raw public key. */
export const keyId = form(/^[0-9a-f]{16}$/u, '16 hex digits')
/** With no stray bits: one key has one text. */
export const publicKey = form(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/u, '32 bytes in base64')
export const signatureText = form(/^[A-Za-z0-9+/]{85}[AQgw]==$/u, '64 bytes in base64')
/** As other hosts write it. */
export const wireTime = form(
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$/u,
  'an RFC 3339 time',
)
/** The one form we write. */
export const ownTime = form(
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/u,
  'a UTC time with three decimals',
)

export const hashScheme = 'chp-event-hash-v2'
export const recordScheme = 'ambit-decision-v1'
export const completenessScheme = 'chp-completeness-v1'
export const protocolVersion = '0.2'
/** What stands where a value was hidden. */
export const redactedText = '[redacted]'

export const outcome = z.enum(['success', 'failure', 'denied', 'skipped', 'indeterminate'])

export const tier = z.enum(['hash-chain', 'signed'])
export type Tier = z.infer<typeof tier>

export const assuranceLevel = z.enum(['S1', 'S2', 'S3'])
export type AssuranceLevel = z.infer<typeof assuranceLevel>

export const policyDecision = z.enum([
  'allow',
  'deny',
  'requires_approval',
  'requires_escalation',
  'requires_more_evidence',
  'sandbox_only',
])
export type PolicyDecision = z.infer<typeof policyDecision>

export const policyState = z.enum(['open', 'restricted', 'approval_required', 'audited', 'blocked', 'revoked'])
export type PolicyState = z.infer<typeof policyState>

export const signatureObject = z.strictObject({
  algorithm: z.literal('ed25519'),
  key_id: keyId,
  signature: signatureText,
})
export type SignatureObject = z.infer<typeof signatureObject>

/** Empty members are left out, so that none can be added unseen. */
export const hostIdentity = z.strictObject({
  host_id: wireId,
  public_key: publicKey,
  key_id: keyId,
  valid_from: wireTime.nullable(),
  valid_until: wireTime.nullable(),
  /** What vouches for the key outside the host. Unknown types are kept and prove nothing. */
  anchors: z
    .array(z.looseObject({ type: z.string() }))
    .min(1)
    .optional(),
  enc_public_key: z.string().min(1).optional(),
  signature: signatureText,
})
export type HostIdentity = z.infer<typeof hostIdentity>

export const keyRotation = z.strictObject({
  old_key_id: keyId,
  old_public_key: publicKey,
  new_key_id: keyId,
  new_public_key: publicKey,
  rotated_at: wireTime,
  signature: signatureText,
})
export type KeyRotation = z.infer<typeof keyRotation>

/** Says that a bundle holds all of its correlation up to a count of the host's events. */
const completeness = z.strictObject({
  scheme: z.literal(completenessScheme),
  correlation_id: wireId,
  as_of_sequence: z.int().min(0),
  head_hash: hash,
})

/** One declared context field of a call: its state always, its value or keyed digest where the contract says so. */
const contextEntry = z.strictObject({
  name: z.string(),
  source: z.string(),
  state: z.enum(['present', 'absent', 'invalid']),
  sensitive: z.boolean(),
  value: z.unknown().optional(),
  digest: keyedDigest.optional(),
})

/** One rule that matched; `gate` as in the list of gates (6, `5b`). */
const basisEntry = z.strictObject({
  gate: z.union([z.int(), z.string()]),
  rule: z.string(),
  effect: z.string(),
  reads: z.array(z.string()),
})

const approvalEntry = z.strictObject({
  approval_id: z.string(),
  quorum: z.int().min(1),
  digest: objectDigest,
  approvers: z.array(
    z.strictObject({ key_id: keyId, name: z.string(), role: z.string(), custody: z.enum(['self', 'host']) }),
  ),
})

const runEntry = z.strictObject({
  run_id: z.string(),
  tool_call_id: z.string().nullable(),
  policy_decision_id: z.string().nullable(),
  approval_mode_effective: z.string().nullable(),
  grants: z.array(z.string()),
  ceilings: z.record(z.string(), z.string()),
  /** The kind of the resource, and the effective mode. */
  provider: z.string().nullable(),
  mode: z.string().nullable(),
  surface: objectDigest.nullable(),
  scopes: z.array(z.string()),
})

const attemptMembers = {
  descriptor: objectDigest.nullable().optional(),
  policy: z
    .strictObject({ name: z.string(), version: z.string(), hash: objectDigest, state: policyState })
    .nullable()
    .optional(),
  input: keyedDigest.optional(),
  context: z.array(contextEntry).optional(),
  /** What rules read of the history, the capability and the run, by path. */
  facts: z.record(z.string(), z.unknown()).optional(),
  basis: z.array(basisEntry).optional(),
  decision: policyDecision.optional(),
  approval: approvalEntry.nullable().optional(),
  run: runEntry.optional(),
}

/** What the first and last event of an attempt add to the call record. */
export const attemptRecord = z.strictObject(attemptMembers)
export type AttemptRecord = z.infer<typeof attemptRecord>

const ownAssurance = z.strictObject({ level: assuranceLevel })

/**
 * `payload.decision` of every event we write: repeats inside the hashed payload what the protocol's hash leaves out.
 * Older records have no `assurance`, and then stand for the lowest level.
 */
export const callRecord = z.strictObject({
  v: z.literal(recordScheme),
  seq: z.int().min(1),
  tenant: z.string(),
  redacted: z.boolean(),
  assurance: ownAssurance.optional(),
  capability_version: z.string().nullable(),
  subject: subject.nullable(),
  actor: actor.nullable(),
  correlation: correlation.omit({ correlation_id: true }),
  denial: z.strictObject({ code: z.string(), digest: objectDigest }).nullable(),
  error: z.strictObject({ type: z.string(), digest: objectDigest }).nullable(),
  ...attemptMembers,
})
export type CallRecord = z.infer<typeof callRecord>

const header = {
  event_id: wireId,
  event_type: wireId,
  invocation_id: wireId,
  capability_id: wireId,
  host_id: wireId,
  correlation,
}

/** The payload holds the call record, the marker of a withheld one, or nothing once cleared. */
export const evidenceEvent = z.strictObject({
  ...header,
  timestamp: ownTime,
  outcome: outcome.nullable(),
  payload: z.union([
    z.looseObject({ decision: callRecord.extend({ assurance: ownAssurance }) }),
    z.strictObject({ chp_withheld: z.literal(true) }),
    z.strictObject({}),
  ]),
  sequence: z.int().min(1),
  redacted: z.boolean(),
  assurance: ownAssurance,
  content_hash: hash.nullable(),
  prev_hash: hash.nullable(),
  hash_scheme: z.literal(hashScheme),
  payload_commitment: hash.nullable(),
  subject: subject.nullable(),
  denial: denial.nullable(),
  error: callError.nullable(),
  capability_version: z.string().nullable(),
})
export type EvidenceEvent = z.infer<typeof evidenceEvent>

/** Less of it is required than of ours. */
export const foreignEvent = z.strictObject({
  ...header,
  timestamp: wireTime,
  outcome: outcome.nullable().optional(),
  payload: z.looseObject({}),
  sequence: z.int().min(0).optional(),
  redacted: z.boolean().optional(),
  assurance: z.looseObject({ level: z.string() }).nullable().optional(),
  content_hash: hash.nullable().optional(),
  prev_hash: hash.nullable().optional(),
  hash_scheme: z.string().nullable().optional(),
  payload_commitment: hash.nullable().optional(),
  subject: z.looseObject({}).nullable().optional(),
  denial: z.looseObject({}).nullable().optional(),
  error: z.looseObject({}).nullable().optional(),
  capability_version: z.string().nullable().optional(),
  admission: z.unknown().optional(),
  execution_id: z.string().nullable().optional(),
  action_digest: z.string().nullable().optional(),
  invocation_digest: z.string().nullable().optional(),
})
export type ForeignEvent = z.infer<typeof foreignEvent>

const bundleMembers = {
  host_id: wireId,
  protocol_version: z.literal(protocolVersion),
  assurance: tier,
  root_hash: hash,
  completeness: completeness.optional(),
  public_key: publicKey.optional(),
  signature: signatureObject.optional(),
  host_identity: hostIdentity.optional(),
}

export const evidenceBundle = z.strictObject({
  ...bundleMembers,
  created_at: ownTime,
  canonicalization: z.literal('chp-stable-v1'),
  completeness,
  events: z.array(evidenceEvent).min(1),
})
export type EvidenceBundle = z.infer<typeof evidenceBundle>

export const foreignBundle = z.strictObject({
  ...bundleMembers,
  created_at: wireTime,
  canonicalization: z.enum(['chp-stable-v1', 'chp-jcs-v1']).optional(),
  events: z.array(foreignEvent).min(1),
})
export type ForeignBundle = z.infer<typeof foreignBundle>

/** `prev` is the hash of the checkpoint before. `store_head` costs a look at every correlation: null unless asked for. */
export const checkpoint = z.strictObject({
  kind: z.literal('ambit-head'),
  host_id: wireId,
  log_size: z.int().min(0),
  log_root: hash,
  sequence: z.int().min(0),
  store_head: hash.nullable(),
  revocation_head: hash,
  at: ownTime,
  prev: hash.nullable(),
  signature: signatureObject,
})
export type Checkpoint = z.infer<typeof checkpoint>

/** What an event gets with its place in the chain. */
type Placed = 'host_id' | 'payload' | 'sequence' | 'content_hash' | 'prev_hash' | 'hash_scheme' | 'payload_commitment'

/** What happened, before it has a place in the chain. `redacted` is false only if nothing was held back. */
export interface EventDraft extends Readonly<Omit<EvidenceEvent, Placed | 'assurance'>> {
  /** Must not have the member `decision`: that is where the call record goes. */
  readonly payload: { readonly [key: string]: Json }
  readonly actor: Actor | null
  /** `S1` when absent. */
  readonly assurance?: AssuranceLevel | undefined
  /** On the first and last event of an attempt. Must not be changed once an event with it was sealed. */
  readonly record?: AttemptRecord | undefined
}

/** An event with its place, ready to be stored; `body` is the whole event as JSON text with sorted members. */
export interface SealedEvent {
  readonly sequence: number
  readonly eventId: string
  readonly eventType: string
  readonly invocationId: string
  readonly capabilityId: string
  readonly correlationId: string
  readonly timestamp: string
  readonly outcome: string | null
  readonly subjectId: string | null
  readonly contentHash: string
  readonly body: string
}

/** What one leaf of the log is made of. */
export type Leaf = Pick<SealedEvent, 'sequence' | 'correlationId' | 'contentHash'>

/** What the log keeps of an event whose correlation was purged: its leaf, and which purge took it. */
export interface PurgedEvent {
  readonly sequence: number
  readonly leafHash: string
  /** The invocation id of the `evidence_purged` event. */
  readonly purgeId: string
}

/** One row of the log. */
export type LogRow = Leaf | PurgedEvent

/** Where the next event goes. */
export interface ChainPosition {
  /** The last one given out, 0 at the start. */
  readonly sequence: number
  /** The last content hash of each correlation the drafts belong to, for those that have one. */
  readonly tails: ReadonlyMap<string, string>
}

/** Gives drafts their places, in order. Pure: the same drafts at the same position seal to the same events. */
export type Seal = (drafts: readonly EventDraft[], at: ChainPosition) => readonly SealedEvent[]
