import { byCodePoint, type Json, stable } from '../../src/base/canonical.ts'
import type { Signer } from '../../src/base/ed25519.ts'
import { digestChunks } from '../../src/evidence/digests.ts'
import { didOf } from '../../src/evidence/statements/sshsig.ts'
import {
  headerOf,
  partyOf,
  type Signatory,
  signedMembers,
  signHeader,
} from '../../src/evidence/statements/statement.ts'
import { type ApprovalGrant, approvalGrant } from '../../src/model/approval.ts'
import { type Mandate, type MandateRevocation, mandate } from '../../src/model/wire/mandate.ts'
import {
  type AuthToken,
  type ChainWitness,
  chainWitness,
  type StoreHeadAnchor,
} from '../../src/model/wire/statement.ts'
import { sshSign } from './ssh-sign.ts'

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
    signature: signHeader(headerOf(header, signedMembers(approvalGrant, 'approver_identity')), signer),
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
    signature: signHeader(headerOf(header, signedMembers(mandate, 'principal', 'parent')), principal.signer),
  }
}

const revocationMembers = ['kind', 'mandate_id', 'revoked_at', 'reason', 'canonicalization'] as const

/** A principal takes its mandate back. */
export function signRevocation(
  fields: Pick<MandateRevocation, 'mandate_id' | 'revoked_at' | 'reason'>,
  principal: Signatory,
): MandateRevocation {
  const header = { ...fields, kind: 'mandate-revocation', canonicalization: 'chp-stable-v1' } as const
  const signature = signHeader(headerOf(header, revocationMembers), principal.signer)
  return { ...header, principal: partyOf(principal), signature }
}

const tokenMembers = ['kind', 'sub', 'aud', 'iat', 'exp', 'canonicalization'] as const

/** A caller's bearer token for one host. */
export function signToken(fields: Pick<AuthToken, 'aud' | 'iat' | 'exp'>, caller: Signatory): AuthToken {
  const header = {
    ...fields,
    kind: 'auth-token',
    sub: caller.identity.host_id,
    canonicalization: 'chp-stable-v1',
  } as const
  return { ...header, caller: partyOf(caller), signature: signHeader(headerOf(header, tokenMembers), caller.signer) }
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
  const signature = signHeader(headerOf(header, signedMembers(chainWitness, 'witness')), witness.signer)
  return { ...header, witness: partyOf(witness), signature }
}

const anchorMembers = ['kind', 'host_id', 'sequence', 'store_head', 'anchored_at'] as const

/** A key outside the host countersigns its head. */
export function signAnchor(
  head: Pick<StoreHeadAnchor, 'host_id' | 'sequence' | 'store_head' | 'store_head_scheme'>,
  anchoredAt: string,
  signer: Signer,
): StoreHeadAnchor {
  const header = { ...head, kind: 'store-head-anchor', anchored_at: anchoredAt } as const
  const countersignature = sshSign(signer, 'chp-store-head-anchor', stable(headerOf(header, anchorMembers)))
  return { ...header, anchor: { type: 'did', did: didOf(signer.publicKey), countersignature } }
}

/** The digest of the chunks of a stream, in the order they were sent. */
export function chunkDigest(deltas: readonly Json[]): string {
  const digest = digestChunks()
  for (const delta of deltas) digest.add(delta)
  return digest.end()
}
