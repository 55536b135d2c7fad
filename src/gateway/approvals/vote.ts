import { canonical, type Json } from '../../base/canonical.ts'
import { verifySignature } from '../../base/ed25519.ts'
import { formatTime } from '../../base/time.ts'
import type { ApprovalRequest, Approver, Vote } from '../../model/approval.ts'
import type { GatewayDeps } from '../deps.ts'

type UnsignedVote = Omit<Vote, 'signature'>

/** A person's decision as it is kept: the host signs that somebody it has authenticated said this. */
export async function voteOf(
  deps: GatewayDeps,
  { approval_id, invocation_digest }: ApprovalRequest,
  { approver_id, roles }: Approver,
  { decision, rationale = '' }: { readonly decision: Vote['decision']; readonly rationale: string | undefined },
): Promise<Vote> {
  const vote: UnsignedVote = {
    signature_id: deps.ids.next('sig'),
    request_id: approval_id,
    approver: approver_id,
    approver_roles: roles,
    decision,
    rationale,
    call_digest: invocation_digest,
    evidence_snapshot_hash: null,
    decided_at: formatTime(deps.clock.now()),
  }
  const host = await deps.signer()
  return { ...vote, signature: host.sign(textOf(vote)) }
}

/** True if the vote is about exactly this request, and signed with a key the host has or had. */
export function isGoodVote(
  { signature, ...vote }: Vote,
  request: ApprovalRequest,
  hostKeys: readonly string[],
): boolean {
  if (vote.request_id !== request.approval_id || vote.call_digest !== request.invocation_digest) return false
  return hostKeys.some((key) => verifySignature(key, textOf(vote), signature))
}

const textOf = (vote: UnsignedVote): string => canonical(vote as Json)
