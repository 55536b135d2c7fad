import { parseTime } from '../../base/time.ts'
import { type ApprovalGrant, approvalGrant } from '../../model/approval.ts'
import {
  headerOf,
  isPinned,
  type Pins,
  type Refused,
  readShape,
  refused,
  signatureProblem,
  signedMembers,
  type Verified,
} from './statement.ts'

const members = signedMembers(approvalGrant, 'approver_identity')

/** What a grant is presented for. Each member given here must stand in the grant, and be equal. */
export type Presented = Partial<
  Pick<
    ApprovalGrant,
    | 'approval_id'
    | 'invocation_id'
    | 'payload_commitment'
    | 'invocation_digest'
    | 'action_digest'
    | 'binding_id'
    | 'audience'
  >
>

export interface GrantOptions {
  /** The host's time in milliseconds. */
  readonly at: number
  /** The keys of registered approvers. */
  readonly pins: Pins
  readonly presented?: Presented
}

/** Verifies an approval grant: shape, key ids, signature, pinned approver, expiry, and what it is presented for. */
export function verifyGrant(input: unknown, { at, pins, presented = {} }: GrantOptions): Verified<ApprovalGrant> {
  const read = readShape(approvalGrant, input)
  if (!read.ok) return read
  const grant = read.value
  const { public_key } = grant.approver_identity
  return (
    signatureProblem(headerOf(grant, members), grant.signature, public_key) ??
    approverProblem(grant, pins) ??
    (at <= (parseTime(grant.valid_until) ?? Number.NaN) ? undefined : refused('window', 'the grant has expired')) ??
    presentedProblem(grant, presented) ??
    read
  )
}

function approverProblem(grant: ApprovalGrant, pins: Pins): Refused | undefined {
  if (grant.approver !== grant.signature.key_id) return refused('key id', 'the approver is not the key that signed')
  if (isPinned(pins, grant.approver_identity.public_key)) return undefined
  return refused('pin', 'the key is not that of a registered approver')
}

function presentedProblem(grant: ApprovalGrant, presented: Presented): Refused | undefined {
  for (const member of Object.keys(presented) as (keyof Presented)[]) {
    if (grant[member] !== presented[member]) return refused('presented', `the grant is for another \`${member}\``)
  }
  return undefined
}
