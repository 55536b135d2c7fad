import { limits } from '../../base/limits.ts'
import { formatTime, parseTime } from '../../base/time.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import type { EventDraft } from '../../model/evidence.ts'
import type { Subject } from '../../model/identity/subject.ts'
import { deny } from '../../policy/gates/refusal.ts'
import { approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import { findClaim, settleWaiting } from '../../storage/tables/claims.ts'
import type { Change } from '../../storage/work.ts'
import type { GatewayDeps } from '../deps.ts'
import { draftEvent, FactsChanged, writeEvents } from '../events.ts'
import { callScope } from '../journal.ts'
import { readRecord, recordText } from '../results.ts'
import { amended, privateOf } from './request.ts'

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

/** Writes the new state of a request, with more changes and the evidence; false if another writer came first. */
export async function writeDecision(
  { deps, told }: Desk,
  { before, next }: { readonly before: ApprovalRequest; readonly next: StoredApproval },
  changes: readonly Change[],
  events: readonly EventDraft[],
): Promise<boolean> {
  const amend = approvalRecords.amend(before.approval_id, ({ request: now }) => {
    if (now.state !== before.state || now.votes.length !== before.votes.length) throw new FactsChanged()
    return next
  })
  try {
    await writeEvents(deps, events, [amend, ...changes, ...(deps.decided?.(before) ?? [])])
  } catch (error) {
    if (error instanceof FactsChanged) return false
    throw error
  }
  told(before.approval_id)
  return true
}

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
    const { denial } = deny('approval', message, { reason, approval_id: stored.request.approval_id })
    const now = clock.now()
    const evidence_ids = [...result.evidence_ids, ...drafts.map(({ event_id }) => event_id)]
    const denied = { outcome: 'denied', error: null, denial, evidence_ids, completed_at: formatTime(now) } as const
    yield* settleWaiting(
      { scope: callScope, key },
      recordText({ result: { ...result, ...denied } }),
      // At least as long as the request would have been open: until then people are not asked the same again.
      Math.max(now + limits.recordedResultMs, parseTime(stored.request.expires_at) ?? 0),
    )(tenant)
  }
}

export const approvalEvent = (
  deps: GatewayDeps,
  { invocation_id, capability, correlation }: ApprovalRequest,
  event: Pick<EventDraft, 'event_type' | 'payload' | 'subject'>,
): EventDraft =>
  draftEvent(deps, {
    ...{ ...event, invocation_id, correlation, capability_id: capability.id, capability_version: capability.version },
  })

export function decidedEvent(deps: GatewayDeps, stored: StoredApproval, subject: Subject): EventDraft {
  const { approval_id, required, votes, state } = stored.request
  return approvalEvent(deps, stored.request, {
    event_type: state === 'approved' ? 'approval_granted' : 'approval_denied',
    payload: {
      approval_id,
      quorum: required.quorum,
      votes: votes.map(({ approver, decision }) => ({ approver, decision })),
      ...(state === 'expired' && { reason: 'expired' }),
      ...(privateOf(stored).edited && { edited: true }),
    },
    subject,
  })
}

const expiredPerTurnMax = 100

/** Ends requests whose time is over: without an answer the call is denied. Returns how many there were. */
export async function expireApprovals(desk: Desk): Promise<number> {
  const { store, tenant, clock } = desk.deps
  const overdue = await store.read(() => approvalRecords.overdue(tenant, clock.now(), expiredPerTurnMax))
  let ended = 0
  for (const stored of overdue) if (await expire(desk, stored)) ended++
  return ended
}

/** Ends one request, unless it has changed. One that people had agreed to was decided before: that is not said again. */
export function expire(desk: Desk, stored: StoredApproval): Promise<boolean> {
  const { deps } = desk
  const before = stored.request
  const next = amended(stored, { state: 'expired', decided_at: before.decided_at ?? formatTime(deps.clock.now()) })
  const host: Subject = { id: deps.hostId, type: 'host', verified: true, tenant: deps.tenant }
  const drafts = before.state === 'pending' ? [decidedEvent(deps, next, host)] : []
  const no = { reason: 'approval_expired', message: 'the call was not approved in time' }
  return writeDecision(desk, { before, next }, [answerWith(deps, next, no, drafts)], drafts)
}
