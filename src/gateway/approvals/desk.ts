import { limits } from '../../base/limits.ts'
import { formatTime, parseTime } from '../../base/time.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import type { EventDraft } from '../../model/evidence.ts'
import type { Subject } from '../../model/identity/subject.ts'
import { refuse } from '../../policy/gates/refusal.ts'
import type { StoredApproval } from '../../storage/tables/approvals.ts'
import { findClaim, settleWaiting } from '../../storage/tables/claims.ts'
import type { Change } from '../../storage/work.ts'
import type { GatewayDeps } from '../deps.ts'
import { callScope } from '../journal.ts'
import { readRecord, recordText } from '../results.ts'
import { FactsChanged, writeEvents } from '../write.ts'
import { privateOf } from './request.ts'

/** Where requests are decided: what it stands on, and whom it tells. */
export interface Desk {
  readonly deps: GatewayDeps
  /** To be told of every request whose state has changed. */
  readonly told: (approvalId: string) => void
}

/** Who decides, as the door has authenticated them. */
export interface Decider {
  readonly principal: string
  readonly subject: Subject
}

/** Writes a change of the queue with its evidence; false if somebody else came first. */
export async function writeDecision(
  { deps, told }: Desk,
  approvalId: string,
  change: Change,
  events: readonly EventDraft[],
): Promise<boolean> {
  try {
    await writeEvents(deps, events, [change])
  } catch (error) {
    if (error instanceof FactsChanged) return false
    throw error
  }
  told(approvalId)
  return true
}

/** From now on the call is answered with this no. */
export function answerWith(
  { clock }: GatewayDeps,
  stored: StoredApproval,
  { reason, message }: { readonly reason: string; readonly message: string },
  drafts: readonly EventDraft[],
): Change {
  return function* (tenant) {
    const key = privateOf(stored).record_key
    const claim = yield* findClaim(tenant, callScope, key)
    if (claim?.state !== 'waiting' || claim.result === null) return
    const { result } = readRecord(claim.result)
    const details = { decision: 'deny', reason, approval_id: stored.request.approval_id }
    const { denial } = refuse('approval', 'policy_blocked', { message, details })
    const now = clock.now()
    const evidence_ids = [...result.evidence_ids, ...drafts.map(({ event_id }) => event_id)]
    yield* settleWaiting(
      { scope: callScope, key },
      recordText({
        result: { ...result, outcome: 'denied', error: null, denial, evidence_ids, completed_at: formatTime(now) },
      }),
      // As long as the request would have been open, at least: until then nobody is asked the same again.
      Math.max(now + limits.recordedResultMs, parseTime(stored.request.expires_at) ?? 0),
    )(tenant)
  }
}

/** An event about a request, in the correlation of its call. */
export const approvalEvent = (
  { ids, clock }: GatewayDeps,
  { invocation_id, capability, correlation }: ApprovalRequest,
  subject: Subject,
  event: Pick<EventDraft, 'event_type' | 'payload'>,
): EventDraft => ({
  ...event,
  event_id: ids.next('evt'),
  invocation_id,
  capability_id: capability.id,
  timestamp: formatTime(clock.now()),
  outcome: null,
  correlation,
  subject,
  actor: null,
  capability_version: capability.version,
  denial: null,
  error: null,
  redacted: true,
})

/** The event that a request is decided with, once. */
export function decidedEvent(deps: GatewayDeps, stored: StoredApproval, subject: Subject): EventDraft {
  const { approval_id, required, votes, state } = stored.request
  return approvalEvent(deps, stored.request, subject, {
    event_type: state === 'approved' ? 'approval_granted' : 'approval_denied',
    payload: {
      approval_id,
      quorum: required.quorum,
      votes: votes.map(({ approver, decision }) => ({ approver, decision })),
      ...(state === 'expired' && { reason: 'expired' }),
      ...(privateOf(stored).edited && { edited: true }),
    },
  })
}
