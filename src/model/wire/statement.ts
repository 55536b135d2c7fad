import { z } from 'zod'
import {
  foreignBundle,
  hash,
  hostIdentity,
  protocolVersion,
  publicKey,
  signatureObject,
  tier,
  wireTime,
} from '../evidence.ts'
import { wireId } from './correlation.ts'

/** Who signed a statement, with its own claim to the key. */
export const party = z.strictObject({ host_id: wireId, public_key: publicKey, host_identity: hostIdentity })
export type Party = z.infer<typeof party>

const sequence = z.int().min(0)
const signed = { canonicalization: z.literal('chp-stable-v1'), signature: signatureObject }

export const chainWitness = z.strictObject({
  kind: z.literal('chain-witness'),
  host_id: wireId,
  sequence,
  store_head: hash,
  witnessed_at: wireTime,
  revocation_head: hash.optional(),
  witness: party,
  ...signed,
})
export type ChainWitness = z.infer<typeof chainWitness>

export const authToken = z.strictObject({
  kind: z.literal('auth-token'),
  sub: wireId,
  aud: wireId,
  iat: wireTime,
  exp: wireTime,
  caller: party,
  ...signed,
})
export type AuthToken = z.infer<typeof authToken>

/** Signed with SSH. The scheme is not signed. */
export const storeHeadAnchor = z.strictObject({
  kind: z.literal('store-head-anchor'),
  host_id: wireId,
  sequence,
  store_head: hash,
  anchored_at: wireTime,
  store_head_scheme: z.enum(['chp-store-head-v1', 'chp-store-head-v2']).optional(),
  anchor: z.strictObject({ type: z.literal('did'), did: z.string(), countersignature: z.string() }),
})
export type StoreHeadAnchor = z.infer<typeof storeHeadAnchor>

/** The aggregator, if there is one, vouches for the set. */
export const taskBundle = z.strictObject({
  kind: z.literal('task-bundle'),
  protocol_version: z.literal(protocolVersion),
  correlation_id: wireId,
  created_at: wireTime,
  canonicalization: z.literal('chp-stable-v1'),
  assurance: tier,
  bundles: z.array(foreignBundle).min(1),
  task_root_hash: hash,
  aggregator: party.extend({ signature: signatureObject }).optional(),
})
export type TaskBundle = z.infer<typeof taskBundle>

export const dsseEnvelope = z.strictObject({
  kind: z.literal('dsse').optional(),
  payloadType: z.literal('application/vnd.in-toto+json'),
  payload: z.string(),
  signatures: z.array(z.strictObject({ keyid: z.string(), sig: z.string() })).min(1),
})
export type DsseEnvelope = z.infer<typeof dsseEnvelope>
