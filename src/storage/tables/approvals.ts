import type { Json } from '../../base/canonical.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Page, type PageOptions, pageBy } from '../page.ts'
import { approvals } from '../schema.ts'
import { type Change, number, row, rows, type Work } from '../work.ts'
import { bodyOf, storedIn } from './records.ts'

/** A request for approval, and what the queue keeps to itself: nothing of `private` is shown or recorded. */
export interface StoredApproval {
  readonly request: ApprovalRequest
  readonly private: Json
}

export interface ApprovalFilter {
  readonly state?: ApprovalRequest['state']
}

/** Who asks, and who asks for what: the same for every call like this one. */
export interface Asked {
  readonly asker: string
  readonly ask: string
}

const stored = storedIn<StoredApproval>(approvals, 'approval', (approval) => ({
  state: approval.request.state,
  expires_at_ms: expiryOf(approval),
}))

export const approvalRecords = { ...stored, add, findByCall, findByAsk, countPending, list, overdue }

/** Adds a request under its own id. `callKey` names the call it is for, of which there may be several. */
function add(callKey: string, approval: StoredApproval, { asker, ask }: Partial<Asked> = {}): Change<void> {
  return function* (tenant) {
    const { approval_id, state } = approval.request
    const body = JSON.stringify(approval)
    const cells = [tenant, approval_id, callKey, state, expiryOf(approval), body, asker ?? null, ask ?? null]
    yield [{ into: approvals, rows: [cells] }]
  }
}

/** Every request of one call, newest first; a call has few. */
function* findByCall(tenant: TenantId, callKey: string): Work<readonly StoredApproval[]> {
  const select = 'SELECT body FROM approvals WHERE tenant_id = ? AND call_key = ? ORDER BY approval_id DESC'
  return (yield* rows(select, tenant, callKey)).map(bodyOf<StoredApproval>)
}

/** The newest request that asks for this and is not over: one with people's yes, else with their no, else one that waits. */
function* findByAsk(tenant: TenantId, ask: string, nowMs: number): Work<StoredApproval | undefined> {
  // Chosen by the index alone: bodies are large. The names of the states happen to be in the order that is wanted.
  const choose = `SELECT approval_id FROM approvals WHERE tenant_id = ? AND ask = ? AND expires_at_ms > ?
    AND state IN ('approved', 'denied', 'pending') ORDER BY state, approval_id DESC LIMIT 1`
  const select = `SELECT body FROM approvals WHERE tenant_id = ? AND approval_id = (${choose})`
  const found = yield* row(select, tenant, tenant, ask, nowMs)
  return found && bodyOf<StoredApproval>(found)
}

/** How many requests of one who asks are pending and not over. */
function* countPending(tenant: TenantId, asker: string, nowMs: number): Work<number> {
  const select =
    "SELECT COUNT(*) AS count FROM approvals WHERE tenant_id = ? AND asker = ? AND expires_at_ms > ? AND state = 'pending'"
  const found = yield* row(select, tenant, asker, nowMs)
  return found === undefined ? 0 : number(found, 'count')
}

/** Requests newest first, from before the cursor on: ids are made in the order of time. */
function list(tenant: TenantId, { state }: ApprovalFilter = {}, options: PageOptions = {}): Work<Page<StoredApproval>> {
  const [condition, params] = state === undefined ? ['', []] : ['AND state = ?', [state]]
  const select = `SELECT approval_id, body FROM approvals WHERE tenant_id = ? ${condition} AND approval_id < ?
    ORDER BY approval_id DESC LIMIT ?`
  return pageBy('approval_id', options, [select, tenant, ...params], bodyOf<StoredApproval>, behindAllIds)
}

const behindAllIds = '\u{10ffff}'

/** Requests that wait for people, or whose yes waits to be used, though their time has passed: at most `limit`, the longest overdue first. */
function* overdue(tenant: TenantId, nowMs: number, limit: number): Work<readonly StoredApproval[]> {
  const select = `SELECT body FROM approvals WHERE tenant_id = ? AND expires_at_ms <= ?
    AND state IN ('pending', 'approved') ORDER BY expires_at_ms, approval_id LIMIT ?`
  return (yield* rows(select, tenant, nowMs, limit)).map(bodyOf<StoredApproval>)
}

const expiryOf = ({ request }: StoredApproval): number => Date.parse(request.expires_at)
