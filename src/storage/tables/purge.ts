import type { ApprovalRequest } from '../../model/approval.ts'
import type { Leaf, PurgedEvent } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { purgedEvents } from '../schema.ts'
import { type Change, type Row, record, row, rows, type Statement, sql, text, type Work } from '../work.ts'
import type { StoredApproval } from './approvals.ts'
import { neverEnds } from './budget-uses.ts'
import type { Claim } from './claims.ts'
import { type EventPlace, placeColumns } from './events.ts'
import { bodyOf } from './records.ts'
import { removeRuns } from './runs/runs.ts'
import { withoutEvents } from './sections.ts'

/** The events of one correlation, in order. */
export function* placesOf(tenant: TenantId, correlation: string): Work<readonly EventPlace[]> {
  const select = `SELECT ${placeColumns} FROM events WHERE tenant_id = ? AND correlation_id = ? ORDER BY sequence`
  return (yield* rows(select, tenant, correlation)).map(record<EventPlace>)
}

/** When the last event of a correlation was; undefined when it has none. */
export function* lastTimeOf(tenant: TenantId, correlation: string): Work<string | undefined> {
  const select =
    'SELECT timestamp FROM events WHERE tenant_id = ? AND correlation_id = ? ORDER BY sequence DESC LIMIT 1'
  const found = yield* row(select, tenant, correlation)
  return found && text(found, 'timestamp')
}

/** The bodies of the events of one type in one correlation, in order. */
export function* bodiesOf(tenant: TenantId, correlation: string, type: string): Work<readonly string[]> {
  const select =
    'SELECT body FROM events WHERE tenant_id = ? AND correlation_id = ? AND event_type = ? ORDER BY sequence'
  return (yield* rows(select, tenant, correlation, type)).map((found) => text(found, 'body'))
}

/** What is kept of calls beside their events. */
export interface CallRows {
  readonly claims: readonly Pick<Claim, 'key' | 'state'>[]
  readonly approvals: readonly { readonly id: string; readonly state: string; readonly expiresAtMs: number }[]
}

/** The claims and requests for approval of a correlation, among those whose keys begin so and go on with a digit. */
export function* callRowsOf(
  tenant: TenantId,
  correlation: string,
  scope: string,
  beginnings: readonly string[],
): Work<CallRows> {
  const isOf = (one: Pick<ApprovalRequest, 'correlation'>) => one.correlation.correlation_id === correlation
  const claims = yield* inRanges(beginnings, (...range) => sql(selectClaims, tenant, scope, ...range))
  const approvals = yield* inRanges(beginnings, (...range) => sql(selectApprovals, tenant, ...range))
  const requests = approvals.map((found) => bodyOf<StoredApproval>(found).request).filter(isOf)
  return {
    claims: claims
      .filter((found) => isOf(bodyOf(found)))
      .map((found) => ({ key: text(found, 'claim_key'), state: text(found, 'state') as Claim['state'] })),
    approvals: requests.map(({ approval_id: id, state, expires_at }) => {
      return { id, state, expiresAtMs: Date.parse(expires_at) }
    }),
  }
}

function* inRanges(beginnings: readonly string[], select: (from: string, to: string) => Statement): Work<Row[]> {
  const found: Row[] = []
  for (let at = 0; at < beginnings.length; at += statementsPerStep)
    for (const some of yield beginnings.slice(at, at + statementsPerStep).map((each) => select(...rangeOf(each))))
      found.push(...some)
  return found
}

const rangeOf = (beginning: string): readonly [from: string, to: string] => [`${beginning}0`, `${beginning}:`]
const selectClaims =
  'SELECT claim_key, state, body FROM claims WHERE tenant_id = ? AND scope = ? AND claim_key >= ? AND claim_key < ?'
const selectApprovals = 'SELECT body FROM approvals WHERE tenant_id = ? AND call_key >= ? AND call_key < ?'

export interface Removal {
  readonly correlation: string
  readonly leaves: readonly Omit<PurgedEvent, 'purgeId'>[]
  readonly scope: string
  readonly rows: CallRows
  /** What holders whose names begin so have used of these budgets goes as well. */
  readonly uses: { readonly budgets: readonly string[]; readonly beginning: string }
}

/** Takes a whole correlation out of the store, and leaves what the log needs of it. */
export const removeCorrelation = (purgeId: string, removal: Removal): Change<void> =>
  function* (tenant) {
    const { correlation, leaves, scope, rows: calls, uses } = removal
    const kept = leaves.map(({ sequence, leafHash }) => [tenant, sequence, leafHash, purgeId])
    const sections = yield* withoutEvents(tenant, correlation)
    const statements: Statement[] = [
      { into: purgedEvents, rows: kept },
      sql('DELETE FROM events WHERE tenant_id = ? AND correlation_id = ?', tenant, correlation),
      ...sections,
      ...calls.claims.map(({ key }) =>
        sql('DELETE FROM claims WHERE tenant_id = ? AND scope = ? AND claim_key = ?', tenant, scope, key),
      ),
      ...calls.approvals.map(({ id }) =>
        sql('DELETE FROM approvals WHERE tenant_id = ? AND approval_id = ?', tenant, id),
      ),
      ...uses.budgets.map((budget) => sql(deleteUses, tenant, budget, ...rangeOf(uses.beginning), neverEnds.endsAtMs)),
    ]
    statements.push(...removeRuns(tenant, correlation))
    for (let at = 0; at < statements.length; at += statementsPerStep) yield statements.slice(at, at + statementsPerStep)
  }

const deleteUses =
  'DELETE FROM budget_uses WHERE tenant_id = ? AND budget = ? AND holder >= ? AND holder < ? AND ends_at_ms = ?'
const statementsPerStep = 100

/** What `read` gives, and what was purged, in the order of the log: strictly after a number, at most `limit`. */
export function* withPurged<T extends Leaf>(
  read: (tenant: TenantId, after: number, limit: number) => Work<readonly T[]>,
  tenant: TenantId,
  after: number,
  limit: number,
): Work<readonly (T | PurgedEvent)[]> {
  const kept = yield* read(tenant, after, limit)
  const purged = (yield* rows(selectPurged, tenant, after, limit)).map(record<PurgedEvent>)
  if (purged.length === 0) return kept
  return [...kept, ...purged].sort((a, b) => a.sequence - b.sequence).slice(0, limit)
}

const selectPurged =
  'SELECT sequence, leaf_hash, purge_id FROM purged_events WHERE tenant_id = ? AND sequence > ? ORDER BY sequence LIMIT ?'
