import { formatTime } from '../../base/time.ts'
import type { Subject } from '../../model/identity/subject.ts'
import { approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import type { Change } from '../../storage/work.ts'
import { FactsChanged } from '../write.ts'
import { answerWith, type Desk, decidedEvent, writeDecision } from './desk.ts'
import { amended } from './request.ts'

const perTurnMax = 100

/** Ends requests whose time is over: nobody's answer is a no. Answers how many there were. */
export async function expireApprovals(desk: Desk): Promise<number> {
  const { store, tenant, clock } = desk.deps
  const overdue = await store.read(() => approvalRecords.overdue(tenant, clock.now(), perTurnMax))
  let ended = 0
  for (const stored of overdue) if (await expire(desk, stored)) ended++
  return ended
}

/** Ends one request, unless it has changed. One that people had agreed to was decided before: that is not said again. */
export function expire(desk: Desk, stored: StoredApproval): Promise<boolean> {
  const { deps } = desk
  const { approval_id, state } = stored.request
  const at = formatTime(deps.clock.now())
  const next = amended(stored, { state: 'expired', decided_at: stored.request.decided_at ?? at })
  const host: Subject = { id: deps.hostId, type: 'host', verified: true, tenant: deps.tenant }
  const drafts = state === 'pending' ? [decidedEvent(deps, next, host)] : []
  const change: Change = function* (tenant) {
    yield* approvalRecords.amend(approval_id, (now) => {
      if (now.request.state !== state) throw new FactsChanged()
      return next
    })(tenant)
    const reason = { reason: 'approval_expired', message: 'nobody approved the call in time' }
    yield* answerWith(deps, next, reason, drafts)(tenant)
  }
  return writeDecision(desk, approval_id, change, drafts)
}
