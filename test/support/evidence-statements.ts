import { byCodePoint, type Json, stable } from '../../src/base/canonical.ts'
import type { Signer } from '../../src/base/ed25519.ts'
import { digestChunks } from '../../src/evidence/digests.ts'
import { didOf } from '../../src/evidence/statements/sshsig.ts'
import { partyOf, type Signatory, signHeader } from '../../src/evidence/statements/statement.ts'
import type { ApprovalGrant } from '../../src/model/approval.ts'
import type { SignatureObject } from '../../src/model/evidence.ts'
import type { Mandate, MandateRevocation } from '../../src/model/wire/mandate.ts'
import type { AuthToken, ChainWitness, StoreHeadAnchor } from '../../src/model/wire/statement.ts'
import { sshSign } from './ssh-sign.ts'

const unsigned = new Set(['signature', 'approver_identity', 'principal', 'parent', 'caller', 'witness'])

/** Signs a statement, whether or not it was signed before. */
const signMembers = (statement: object, signer: Signer): SignatureObject =>
  signHeader(Object.fromEntries(Object.entries(statement).filter(([name]) => !unsigned.has(name))), signer)

// What approvers, principals, callers and witnesses sign with tools of their own, and a host only verifies.

export type GrantFields = Omit<
  ApprovalGrant,
  'kind' | 'decision' | 'approver' | 'canonicalization' | 'approver_identity' | 'signature'
>

/** An approver's signed yes to one exact invocation. */
export function signGrant(fields: GrantFields, signer: Signer, hostId: string = signer.keyId): ApprovalGrant {
  const header = {
    ...fields,
    kind: 'approval-grant',
    decision: 'granted',
    approver: signer.keyId,
    canonicalization: 'chp-stable-v1',
  } as const
  return {
    ...header,
    approver_identity: { host_id: hostId, public_key: signer.publicKey },
    signature: signMembers(header, signer),
  }
}

export interface MandateFields
  extends Pick<Mandate, 'mandate_id' | 'delegate_id' | 'valid_from' | 'valid_until' | 'created_at'> {
  readonly scope: readonly string[]
  readonly max_invocations?: number
  /** The mandate that is narrowed by this one. */
  readonly parent?: Mandate
}

/** A principal delegates to a named delegate, for a scope and a time. */
export function signMandate({ parent, ...fields }: MandateFields, principal: Signatory): Mandate {
  const header = {
    ...fields,
    kind: 'mandate',
    scope: [...fields.scope].sort(byCodePoint),
    canonicalization: 'chp-stable-v1',
    ...(parent && { depth: (parent.depth ?? 0) + 1, parent_id: parent.mandate_id }),
  } as const
  return {
    ...header,
    ...(parent && { parent }),
    principal: partyOf(principal),
    signature: signMembers(header, principal.signer),
  }
}

/** A principal takes its mandate back. */
export function signRevocation(
  fields: Pick<MandateRevocation, 'mandate_id' | 'revoked_at' | 'reason'>,
  principal: Signatory,
): MandateRevocation {
  const header = { ...fields, kind: 'mandate-revocation', canonicalization: 'chp-stable-v1' } as const
  const signature = signMembers(header, principal.signer)
  return { ...header, principal: partyOf(principal), signature }
}

/** A caller's bearer token for one host. */
export function signToken(fields: Pick<AuthToken, 'aud' | 'iat' | 'exp'>, caller: Signatory): AuthToken {
  const header = {
    ...fields,
    kind: 'auth-token',
    sub: caller.identity.host_id,
    canonicalization: 'chp-stable-v1',
  } as const
  return { ...header, caller: partyOf(caller), signature: signMembers(header, caller.signer) }
}

/** The head of a store at one count of its events. */
export type Head = Pick<ChainWitness, 'host_id' | 'sequence' | 'store_head' | 'revocation_head'>

/** A host says that it has seen this head of another. */
export function signWitness(head: Head, witnessedAt: string, witness: Signatory): ChainWitness {
  const header = {
    ...head,
    kind: 'chain-witness',
    witnessed_at: witnessedAt,
    canonicalization: 'chp-stable-v1',
  } as const
  const signature = signMembers(header, witness.signer)
  return { ...header, witness: partyOf(witness), signature }
}

/** A key outside the host countersigns its head. */
export function signAnchor(
  head: Pick<StoreHeadAnchor, 'host_id' | 'sequence' | 'store_head' | 'store_head_scheme'>,
  anchoredAt: string,
  signer: Signer,
): StoreHeadAnchor {
  const { store_head_scheme: _, ...header } = { ...head, kind: 'store-head-anchor', anchored_at: anchoredAt } as const
  const countersignature = sshSign(signer, 'chp-store-head-anchor', stable(header))
  return { ...head, ...header, anchor: { type: 'did', did: didOf(signer.publicKey), countersignature } }
}

/** The digest of the chunks of a stream, in the order they were sent. */
export function chunkDigest(deltas: readonly Json[]): string {
  const digest = digestChunks()
  for (const delta of deltas) digest.add(delta)
  return digest.end()
}
