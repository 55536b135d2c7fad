import type { Json } from '../../base/canonical.ts'
import { type Presented, verifyGrant } from '../../evidence/statements/grant.ts'
import type { Approver, Vote } from '../../model/approval.ts'
import { ineligible, type Said } from '../../policy/approval.ts'
import type { StoredApproval } from '../../storage/tables/approvals.ts'
import type { GatewayDeps } from '../deps.ts'
import { privateOf } from './request.ts'
import { isGoodVote } from './vote.ts'

/** The vote of an approver who may vote now. */
export interface CountedVote extends Said {
  readonly approver: Approver
}

/** The approvers of the tenant, and the grants that came with the call. */
export interface VoteSources {
  readonly approvers: readonly Approver[]
  readonly grants: readonly Json[]
}

/** The votes on a request by people who may still decide about it: one for each person. */
export async function validVotes(
  deps: GatewayDeps,
  stored: StoredApproval,
  sources: VoteSources,
): Promise<CountedVote[]> {
  const votes = [...heldVotes(deps, stored, sources, await deps.hostKeys()), ...grantVotes(deps, stored, sources)]
  return votes.filter(
    (vote, index) => votes.findIndex(({ approver }) => approver.principal === vote.approver.principal) === index,
  )
}

/** Votes on the request. The yes of an approver with a key of their own is their grant, not what we signed for them. */
const heldVotes = (
  deps: GatewayDeps,
  stored: StoredApproval,
  { approvers }: VoteSources,
  hostKeys: readonly string[],
): CountedVote[] =>
  stored.request.votes.flatMap((vote: Vote) => {
    const approver = approvers.find(({ approver_id }) => approver_id === vote.approver)
    if (approver === undefined || !isGoodVote(vote, stored.request, hostKeys)) return []
    if (approver.custody === 'self' && vote.decision === 'approve') return []
    return isIneligible(deps, stored, approver) ? [] : [{ approver, decision: vote.decision }]
  })

/** Signed grants, kept or sent with the call. One that fails any check does not count. */
function grantVotes(deps: GatewayDeps, stored: StoredApproval, { approvers, grants }: VoteSources): CountedVote[] {
  const own = approvers.filter(({ custody }) => custody === 'self')
  if (own.length === 0) return []
  const pins = new Set(own.map(({ public_key }) => public_key))
  return [...(privateOf(stored).grants ?? []), ...grants].flatMap((input) => {
    const grant = verifyGrant(input, { at: deps.clock.now(), pins, presented: boundTo(deps, stored) })
    if (!grant.ok) return []
    const { public_key } = grant.value.approver_identity
    // One key may stand for a person who was registered anew.
    const approver = own.find((each) => each.public_key === public_key && !isIneligible(deps, stored, each))
    return approver === undefined ? [] : [{ approver, decision: 'approve' as const }]
  })
}

/** What a grant has to name: the exact call, unless the policy is content with what the protocol demands. */
export function boundTo({ hostId }: GatewayDeps, stored: StoredApproval): Presented {
  const { approval_id, invocation_id, payload_commitment, invocation_digest } = stored.request
  const minimal = { approval_id, invocation_id, payload_commitment }
  return privateOf(stored).bind === 'protocol' ? minimal : { ...minimal, invocation_digest, audience: hostId }
}

/** Why this approver may not decide about the request; undefined if they may. */
export const ineligibleBecause = (deps: GatewayDeps, stored: StoredApproval, approver: Approver | undefined) =>
  ineligible(approver, {
    required: stored.request.required,
    excluded: privateOf(stored).excluded,
    now: deps.clock.now(),
  })

const isIneligible = (deps: GatewayDeps, stored: StoredApproval, approver: Approver): boolean =>
  ineligibleBecause(deps, stored, approver) !== undefined
