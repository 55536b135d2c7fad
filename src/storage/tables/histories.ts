import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Change, row, rows, text, type Work } from '../work.ts'

/** What is remembered of a session, as JSON text; undefined where there is nothing, or nothing any more. */
export const historyOf = (tenant: TenantId, session: string, nowMs: number): Work<string | undefined> =>
  bodyOf(tenant, session, nowMs, '')

export interface Remembering {
  readonly session: string
  readonly nowMs: number
  readonly expiresAtMs: number
  /** Makes the new text of the present one, and may throw: then nothing is kept. */
  readonly next: (body: string | undefined) => string
}

/** Replaces what is remembered of a session, with no other change of it in between. */
export const amendHistory = ({ session, nowMs, expiresAtMs, next }: Remembering): Change<void> =>
  function* (tenant) {
    for (;;) {
      const before = yield* bodyOf(tenant, session, nowMs, ' FOR UPDATE')
      const body = next(before)
      if (yield* row(put, tenant, session, expiresAtMs, body, nowMs, before ?? '')) return
    }
  }

// A row that is not there cannot be locked: if another process began the session meanwhile, nothing is put over that.
// A clock that went back does not make a session forget sooner.
const put = `INSERT INTO histories (tenant_id, session, expires_at_ms, body) VALUES (?, ?, ?, ?)
  ON CONFLICT (tenant_id, session) DO UPDATE SET body = excluded.body, expires_at_ms =
  CASE WHEN excluded.expires_at_ms > histories.expires_at_ms THEN excluded.expires_at_ms ELSE histories.expires_at_ms END
  WHERE histories.expires_at_ms <= ? OR histories.body = ? RETURNING 1 AS done`

function* bodyOf(tenant: TenantId, session: string, nowMs: number, lock: string): Work<string | undefined> {
  const select = `SELECT body FROM histories WHERE tenant_id = ? AND session = ? AND expires_at_ms > ?${lock}`
  const found = yield* row(select, tenant, session, nowMs)
  return found && text(found, 'body')
}

/** Forgets at most `limit` sessions whose time is over, the oldest first, and says how many. */
export const dropExpiredHistories = (nowMs: number, limit: number): Change<number> =>
  function* (tenant) {
    // Asked of the row itself too: the session may have gone on since it was chosen.
    const dropped = yield* rows(
      `DELETE FROM histories WHERE tenant_id = ? AND expires_at_ms <= ? AND session IN
       (SELECT session FROM histories WHERE tenant_id = ? AND expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)
       RETURNING 1 AS done`,
      tenant,
      nowMs,
      tenant,
      nowMs,
      limit,
    )
    return dropped.length
  }
