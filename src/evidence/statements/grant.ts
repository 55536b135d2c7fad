import { parseTime } from '../../base/time.ts'
import { type ApprovalGrant, approvalGrant } from '../../model/approval.ts'
import { isPinned, type Pins, readShape, refused, signatureProblem, type Verified } from './statement.ts'

/** What a grant is presented for. Each member given here must stand in the grant, and be equal. */
export type Presented = Partial<
  Pick<ApprovalGrant, 'approval_id' | 'invocation_id' | 'payload_commitment' | 'binding_id' | 'audience'> &
    Pick<ApprovalGrant, 'invocation_digest' | 'action_digest'>
>

interface GrantOptions {
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
  const { approver_identity, ...grant } = read.value
  const { public_key } = approver_identity
  const problem = signatureProblem(grant, public_key)
  if (problem !== undefined) return problem
  if (grant.approver !== grant.signature.key_id) return refused('key id', 'the approver is not the key that signed')
  if (!isPinned(pins, public_key)) return refused('pin', 'the key is not that of a registered approver')
  if (!(at <= (parseTime(grant.valid_until) ?? Number.NaN))) return refused('window', 'the grant has expired')
  const members = Object.keys(presented) as (keyof Presented)[]
  const other = members.find((member) => grant[member] !== presented[member])
  return other === undefined ? read : refused('presented', `the grant is for another \`${other}\``)
}
