import { canonical, type Json } from '../../base/canonical.ts'
import { verifySignature } from '../../base/ed25519.ts'
import { formatTime } from '../../base/time.ts'
import { type Presented, verifyGrant } from '../../evidence/statements/grant.ts'
import type { ApprovalRequest, Approver, Vote } from '../../model/approval.ts'
import { type CastVote, ineligible } from '../../policy/quorum.ts'
import type { StoredApproval } from '../../storage/tables/approvals.ts'
import type { GatewayDeps } from '../deps.ts'
import { privateOf } from './request.ts'

export interface CountedVote extends CastVote {
  readonly approver: Approver
}

/** The votes on a request by those of the approvers who may still decide about it: one for each person. */
export async function validVotes(
  deps: GatewayDeps,
  stored: StoredApproval,
  { approvers, grants }: { readonly approvers: readonly Approver[]; readonly grants: readonly Json[] },
): Promise<CountedVote[]> {
  const able = approvers.filter((approver) => ineligibleBecause(deps, stored, approver) === undefined)
  const votes = [...heldVotes(stored, able, await deps.hostKeys()), ...grantVotes(deps, stored, able, grants)]
  return votes.filter(
    (vote, index) => votes.findIndex(({ approver }) => approver.principal === vote.approver.principal) === index,
  )
}

/** Votes on the request. The yes of an approver with a key of their own is their grant, not what we signed for them. */
const heldVotes = ({ request }: StoredApproval, able: readonly Approver[], hostKeys: readonly string[]) =>
  request.votes.flatMap((vote) => {
    const approver = able.find(({ approver_id }) => approver_id === vote.approver)
    if (approver === undefined || !isGoodVote(vote, request, hostKeys)) return []
    return approver.custody === 'self' && vote.decision === 'approve' ? [] : [{ approver, decision: vote.decision }]
  })

/** Signed grants, kept or sent with the call. One that fails any check does not count. */
function grantVotes(deps: GatewayDeps, stored: StoredApproval, able: readonly Approver[], sent: readonly Json[]) {
  const own = able.filter(({ custody }) => custody === 'self')
  if (own.length === 0) return []
  const pins = new Set(own.map(({ public_key }) => public_key))
  const presented = boundTo(deps, stored)
  return [...(privateOf(stored).grants ?? []), ...sent].flatMap((input) => {
    const grant = verifyGrant(input, { at: deps.clock.now(), pins, presented })
    const key = grant.ok ? grant.value.approver_identity.public_key : undefined
    const approver = own.find(({ public_key }) => public_key === key)
    return approver === undefined ? [] : [{ approver, decision: 'approve' as const }]
  })
}

/** What a grant has to name: the exact call, unless the policy is content with what the protocol demands. */
export function boundTo({ hostId }: GatewayDeps, stored: StoredApproval): Presented {
  const { approval_id, invocation_id, payload_commitment, invocation_digest } = stored.request
  const minimal = { approval_id, invocation_id, payload_commitment }
  return privateOf(stored).bind === 'protocol' ? minimal : { ...minimal, invocation_digest, audience: hostId }
}

export const ineligibleBecause = (deps: GatewayDeps, stored: StoredApproval, approver: Approver | undefined) =>
  ineligible(approver, {
    required: stored.request.required,
    excluded: privateOf(stored).excluded,
    now: deps.clock.now(),
  })

type UnsignedVote = Omit<Vote, 'signature'>

/** A person's decision as it is kept: the host signs that a person it has authenticated said this. */
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
function isGoodVote({ signature, ...vote }: Vote, request: ApprovalRequest, hostKeys: readonly string[]): boolean {
  if (vote.request_id !== request.approval_id || vote.call_digest !== request.invocation_digest) return false
  return hostKeys.some((key) => verifySignature(key, textOf(vote), signature))
}

const textOf = (vote: UnsignedVote): string => canonical(vote as Json)
