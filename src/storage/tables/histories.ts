import type { TenantId } from '../../model/identity/tenant-id.ts'
import { histories } from '../schema.ts'
import { type Change, row, text, type Work } from '../work.ts'
import { dropOldest } from './records.ts'

/** What is kept under the key of a history, as JSON text; undefined where nothing is, or its time is over. */
export const historyOf = (tenant: TenantId, key: string, nowMs: number): Work<string | undefined> =>
  bodyOf(tenant, key, nowMs, '')

interface HistoryChange {
  readonly key: string
  readonly nowMs: number
  readonly expiresAtMs: number
  /** Makes the new text from the present one. If it throws, nothing is changed. */
  readonly next: (body: string | undefined) => string
}

/** Replaces a history, with no other change of it in between. */
export const amendHistory = ({ key, nowMs, expiresAtMs, next }: HistoryChange): Change<void> =>
  function* (tenant) {
    for (;;) {
      const before = yield* bodyOf(tenant, key, nowMs, ' FOR UPDATE')
      const body = next(before)
      if (yield* row(put, tenant, key, expiresAtMs, body, nowMs, before ?? '')) return
    }
  }

// The column `session` holds the key. A row that is not there cannot be locked: if another process added it meanwhile,
// it is not overwritten. A clock that went back does not make a history end sooner.
const put = `INSERT INTO histories (tenant_id, session, expires_at_ms, body) VALUES (?, ?, ?, ?)
  ON CONFLICT (tenant_id, session) DO UPDATE SET body = excluded.body, expires_at_ms =
  CASE WHEN excluded.expires_at_ms > histories.expires_at_ms THEN excluded.expires_at_ms ELSE histories.expires_at_ms END
  WHERE histories.expires_at_ms <= ? OR histories.body = ? RETURNING 1 AS done`

function* bodyOf(tenant: TenantId, key: string, nowMs: number, lock: string): Work<string | undefined> {
  const select = `SELECT body FROM histories WHERE tenant_id = ? AND session = ? AND expires_at_ms > ?${lock}`
  const found = yield* row(select, tenant, key, nowMs)
  return found && text(found, 'body')
}

/** Drops at most `limit` histories whose time is over, the oldest first, and returns how many. */
export const dropExpiredHistories = (nowMs: number, limit: number): Change<number> =>
  dropOldest(histories, 'expires_at_ms', nowMs, limit)
