import { z } from 'zod'
import { hostIdentity, keyRotation, publicKey, signatureObject, wireTime } from '../evidence.ts'
import { capabilityScope, prose } from '../text.ts'
import { wireId } from './correlation.ts'

/** Who signed a statement, with its own claim to the key and the rotations that led to it. */
const signer = z.strictObject({
  host_id: wireId,
  public_key: publicKey,
  host_identity: hostIdentity,
  key_history: z.array(keyRotation).optional(),
})

/** A sub-mandate carries its whole parent. Scope, windows, narrowing and signatures are for the verifier to check. */
export const mandate = z.strictObject({
  kind: z.literal('mandate'),
  mandate_id: wireId,
  delegate_id: wireId,
  scope: z.array(capabilityScope),
  valid_from: wireTime,
  valid_until: wireTime,
  created_at: wireTime,
  canonicalization: z.literal('chp-stable-v1'),
  principal: signer,
  signature: signatureObject,
  max_invocations: z.int().min(1).optional(),
  depth: z.int().min(1).optional(),
  parent_id: wireId.optional(),
  get parent() {
    return mandate.optional()
  },
})

export type Mandate = z.infer<typeof mandate>

/** It counts only if it verifies under that mandate's own key. */
export const mandateRevocation = z.strictObject({
  kind: z.literal('mandate-revocation'),
  mandate_id: wireId,
  revoked_at: wireTime,
  reason: prose,
  canonicalization: z.literal('chp-stable-v1'),
  principal: signer,
  signature: signatureObject,
})

export type MandateRevocation = z.infer<typeof mandateRevocation>
