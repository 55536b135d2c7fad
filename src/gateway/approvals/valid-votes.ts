import type { Json } from '../../base/canonical.ts'
import { type Presented, verifyGrant } from '../../evidence/statements/grant.ts'
import type { Approver, Vote } from '../../model/approval.ts'
import { ineligible, type Said } from '../../policy/approval.ts'
import type { StoredApproval } from '../../storage/tables/approvals.ts'
import type { GatewayDeps } from '../deps.ts'
import { privateOf } from './request.ts'
import { isGoodVote } from './vote.ts'

/** What one approver says, and counts now. */
export interface Voice extends Said {
  readonly approver: Approver
}

/** Whom a request may be decided by, and the grants that came with the call. */
export interface Speaking {
  readonly approvers: readonly Approver[]
  readonly grants: readonly Json[]
}

/** Who has spoken about a request and may still speak: one voice for each person. */
export async function voicesFor(deps: GatewayDeps, stored: StoredApproval, speaking: Speaking): Promise<Voice[]> {
  const voices = [...heldVoices(deps, stored, speaking, await deps.hostKeys()), ...grantVoices(deps, stored, speaking)]
  return voices.filter(
    (voice, index) => voices.findIndex(({ approver }) => approver.principal === voice.approver.principal) === index,
  )
}

/** Votes that were given to us. A yes of one with a key of their own is their grant, not what we signed for them. */
const heldVoices = (
  deps: GatewayDeps,
  stored: StoredApproval,
  { approvers }: Speaking,
  hostKeys: readonly string[],
): Voice[] =>
  stored.request.votes.flatMap((vote: Vote) => {
    const approver = approvers.find(({ approver_id }) => approver_id === vote.approver)
    if (approver === undefined || !isGoodVote(vote, stored.request, hostKeys)) return []
    if (approver.custody === 'self' && vote.decision === 'approve') return []
    return isBarred(deps, stored, approver) ? [] : [{ approver, decision: vote.decision }]
  })

/** Signed grants, held or brought along. One that fails any check is as if it were not there. */
function grantVoices(deps: GatewayDeps, stored: StoredApproval, { approvers, grants }: Speaking): Voice[] {
  const own = approvers.filter(({ custody }) => custody === 'self')
  if (own.length === 0) return []
  const pins = new Set(own.map(({ public_key }) => public_key))
  return [...(privateOf(stored).grants ?? []), ...grants].flatMap((input) => {
    const grant = verifyGrant(input, { at: deps.clock.now(), pins, presented: boundTo(deps, stored) })
    if (!grant.ok) return []
    const { public_key } = grant.value.approver_identity
    // One key may stand for a person who was registered anew.
    const approver = own.find((each) => each.public_key === public_key && !isBarred(deps, stored, each))
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
export const barred = (deps: GatewayDeps, stored: StoredApproval, approver: Approver | undefined) =>
  ineligible(approver, {
    required: stored.request.required,
    excluded: privateOf(stored).excluded,
    now: deps.clock.now(),
  })

const isBarred = (deps: GatewayDeps, stored: StoredApproval, approver: Approver): boolean =>
  barred(deps, stored, approver) !== undefined
