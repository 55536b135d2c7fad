import { Failure } from '../../base/failure.ts'
import { objectHash } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import { deny, type Refusal } from '../../policy/gates/refusal.ts'
import { demandsOf, requiredOf, tally } from '../../policy/quorum.ts'
import { approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import type { Attempt, GateAnswer, Resolved } from '../attempt.ts'
import { waitingCopy } from '../call.ts'
import type { Ended } from '../execute.ts'
import type { Asking } from './request.ts'
import { amended, bindingOf, isOpen, isOver, mintRequest, notApproved, privateOf, waiting } from './request.ts'
import { type CountedVote, validVotes } from './votes.ts'

/** Lets a call through if enough people approved exactly this one; otherwise refuses it, and prepares the request. */
export function askPeople(attempt: Resolved, asking: Asking): GateAnswer {
  const asked = attempt.requests.find(({ request }) => isOpen(request)) ?? attempt.requests[0]
  if (asked === undefined) return mintRequest(attempt, asking)
  const { state } = asked.request
  if (state === 'denied' || state === 'redeemed') return blocked(asking, 'approval_denied', notApproved(asked.request))
  if (state === 'expired' || isOver(attempt.deps, asked.request))
    return blocked(asking, 'approval_expired', 'the call was not approved in time')
  if (!isOpen(asked.request) || isChanged(attempt, asking, asked)) return replaced(attempt, asking, asked)
  return count(attempt, asking, asked)
}

/** Another call than people were asked about, or one that now needs other people. */
const isChanged = (attempt: Resolved, { terms }: Asking, stored: StoredApproval): boolean =>
  bindingOf(attempt, privateOf(stored).nonce).invocationDigest !== stored.request.invocation_digest ||
  objectHash(requiredOf(terms)) !== objectHash(stored.request.required)

/** The call is no longer the one people were asked about: they are asked once more, and not a third time. */
function replaced(attempt: Resolved, asking: Asking, { request }: StoredApproval): Promise<Refusal> | Refusal {
  if (isOpen(request))
    attempt.changes.push(approvalRecords.amend(request.approval_id, (now) => amended(now, { state: 'stale' })))
  const before = attempt.requests.filter((each) => each.request !== request)
  if (before.some((each) => each.request.state === 'stale' && privateOf(each).replaced_by === undefined))
    return blocked(asking, 'approval_stale', 'the call changed again after people were asked')
  return mintRequest(attempt, asking)
}

const blocked = ({ gate }: Asking, reason: string, message: string): Refusal => deny(gate, message, { reason })

async function count(attempt: Resolved, asking: Asking, stored: StoredApproval): Promise<Refusal | undefined> {
  const { deps, call } = attempt
  const approvers = await deps.store.read(() => approversInOffice(deps.tenant))
  const good = await validVotes(deps, stored, { approvers, grants: call.grants })
  const { request } = stored
  if (tally(good, request.required) === 'approved') return use(attempt, stored, good)
  // People had agreed, and one of them no longer counts: that is not what the others agreed to.
  return request.state === 'approved' ? replaced(attempt, asking, stored) : waiting(asking, request)
}

/** Prepares the yes to be used up, and says whose it was. */
function use(attempt: Attempt, stored: StoredApproval, good: readonly CountedVote[]): undefined {
  const { approval_id, required, invocation_digest, state } = stored.request
  const asked = demandsOf(required).flatMap(({ roles }) => roles)
  const approvers = good.map(({ approver: { key_id, approver_id: name, roles, custody } }) => {
    return { key_id, name, role: roles.find((role) => asked.includes(role)) ?? roles[0] ?? '', custody }
  })
  const digest = invocation_digest as `sha256:${string}`
  attempt.approval = { approval_id, quorum: required.quorum, digest, approvers }
  if (state === 'pending')
    attempt.events.push({
      type: 'approval_granted',
      payload: { approval_id, quorum: required.quorum, ...(privateOf(stored).edited && { edited: true }) },
    })
  for (const { approver } of good)
    attempt.events.push({
      type: 'approval_grant_verified',
      payload: { approval_id, approver: approver.approver_id, key_id: approver.key_id },
    })
  attempt.changes.push(approvalRecords.amend(approval_id, redeemed(formatTime(attempt.deps.clock.now()))))
}

/** Uses a request up. A second call finds it gone. */
const redeemed =
  (at: string) =>
  (stored: StoredApproval): StoredApproval => {
    if (!isOpen(stored.request)) throw new Failure('approval.used', 'the approval was used already')
    return amended(stored, { state: 'redeemed', decided_at: stored.request.decided_at ?? at, redeemed_at: at })
  }

/**
 * Lets the same call use its approval again, where it certainly had no effect. Not where only an upstream says so, not
 * one signed for a single attempt, nor that of a deferred call, whose id has its answer.
 */
export function returnApproval({ deps, call, approval, requests }: Attempt, ended: Ended) {
  if (approval === null || ended.outcome !== 'failure' || ended.error.effect !== 'none' || ended.isClaimed)
    return undefined
  const request = requests.find((each) => each.request.approval_id === approval.approval_id)?.request
  if (request?.invocation_id !== call.invocationId || isOver(deps, request)) return undefined
  if (approval.approvers.some(({ custody }) => custody === 'self')) return undefined
  const open = { state: 'approved', redeemed_at: null } as const
  return {
    change: approvalRecords.amend(approval.approval_id, (now) => amended(now, open, { call: waitingCopy(call) })),
    ended: { ...ended, error: { ...ended.error, approved_until: request.expires_at } },
  }
}

/** Takes back what people were asked about a call that has been refused for another reason. */
export const withdraw = (id: string) =>
  approvalRecords.amend(id, (now) => (isOpen(now.request) ? amended(now, { state: 'withdrawn' }) : now))
