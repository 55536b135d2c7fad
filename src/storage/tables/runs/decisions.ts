import type { DecisionRecord } from '../../../model/contract/decision.ts'
import type { TenantId } from '../../../model/identity/tenant-id.ts'
import { type Page, type PageOptions, page } from '../../page.ts'
import { decisionRecords } from '../../schema.ts'
import { row, rows, type Statement, type Work } from '../../work.ts'
import { bodyOf } from '../records.ts'

/** The record of a run, whose versions are kept for good: each run has one. */
export const recordIdOf = (runId: string): string => runId.replace(/^run_/, 'dr_')

/** Adds a version. Two versions of one number break the key. */
export const addVersion = (tenant: TenantId, rootId: string, record: DecisionRecord): Statement => ({
  into: decisionRecords,
  rows: [[tenant, record.record_id, record.ambit.seq, rootId, record.status, JSON.stringify(record)]],
})

/** All versions of a record, the first one first. */
export function* versionsOf(tenant: TenantId, recordId: string): Work<readonly DecisionRecord[]> {
  const select = 'SELECT body FROM decision_records WHERE tenant_id = ? AND record_id = ? ORDER BY seq'
  return (yield* rows(select, tenant, recordId)).map(bodyOf<DecisionRecord>)
}

const newest = `seq = (SELECT MAX(seq) FROM decision_records d
  WHERE d.tenant_id = decision_records.tenant_id AND d.record_id = decision_records.record_id)`

/** The newest version of a record. */
export function* lastVersion(tenant: TenantId, recordId: string): Work<DecisionRecord | undefined> {
  const select = 'SELECT body FROM decision_records WHERE tenant_id = ? AND record_id = ? ORDER BY seq DESC LIMIT 1'
  const found = yield* row(select, tenant, recordId)
  return found && bodyOf(found)
}

/** Every version of each record of a tree. */
export function* recordsOfRoot(tenant: TenantId, rootId: string): Work<readonly DecisionRecord[]> {
  const select = 'SELECT body FROM decision_records WHERE tenant_id = ? AND root_run_id = ? ORDER BY record_id, seq'
  return (yield* rows(select, tenant, rootId)).map(bodyOf<DecisionRecord>)
}

export interface RecordFilter {
  readonly status?: string | undefined
  /** Record ids between which those of a time lie; the second is not included. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Records in their newest version, the newest record first. */
export function listRecords(
  tenant: TenantId,
  { status, from = '', to }: RecordFilter,
  options: PageOptions = {},
): Work<Page<DecisionRecord>> {
  const of = status === undefined ? [] : [status]
  const select = `SELECT record_id, body FROM decision_records WHERE tenant_id = ? AND record_id < ? AND record_id >= ?
    AND ${newest}${status === undefined ? '' : ' AND status = ?'} ORDER BY record_id DESC LIMIT ?`
  const fetch = (last: string, limit: number) => rows(select, tenant, last, from, ...of, limit)
  return page(options, to ?? '~', 'record_id', fetch, bodyOf<DecisionRecord>)
}
