import { Failure, quote } from '../../base/failure.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Change, counted, number, record, row, touchOne, type Work } from '../work.ts'

/** The sole right to do something until a time. `fence` rises with every new holder: who shows an older one is late. */
export interface Lease {
  readonly name: string
  readonly holder: string
  readonly fence: number
  readonly expiresAtMs: number
}

/** Takes a lease that is free or has lapsed, or renews one's own (same fence); otherwise `lease.taken`. */
export const acquireLease = (
  wish: { readonly name: string; readonly holder: string; readonly ttlMs: number },
  nowMs: number,
): Change<Lease> =>
  function* (tenant) {
    const expiresAtMs = nowMs + wish.ttlMs
    const held = yield* row(acquire, tenant, wish.name, wish.holder, expiresAtMs, nowMs, nowMs)
    if (held === undefined)
      throw new Failure('lease.taken', `lease ${quote(wish.name)} is held by another`, { name: wish.name })
    return { name: wish.name, holder: wish.holder, fence: number(held, 'fence'), expiresAtMs }
  }

const acquire = `INSERT INTO leases (tenant_id, name, holder, fence, expires_at_ms) VALUES (?, ?, ?, 1, ?)
  ON CONFLICT (tenant_id, name) DO UPDATE
  SET fence = CASE WHEN leases.holder = excluded.holder AND leases.expires_at_ms > ? THEN leases.fence ELSE leases.fence + 1 END,
      holder = excluded.holder, expires_at_ms = excluded.expires_at_ms
  WHERE leases.expires_at_ms <= ? OR leases.holder = excluded.holder RETURNING fence`

/** Gives one's lease back; `lease.lost` when it went to another. The row stays, so that the fence goes on rising. */
export const releaseLease = ({ name, holder, fence }: Lease): Change<void> =>
  touchOne(
    (tenant) => counted(release, tenant, name, holder, fence),
    () => new Failure('lease.lost', `lease ${quote(name)} is no longer held`, { name }),
  )

const release = 'UPDATE leases SET expires_at_ms = 0 WHERE tenant_id = ? AND name = ? AND holder = ? AND fence = ?'

/** The lease of this name, whether or not it has lapsed. */
export function* leaseOf(tenant: TenantId, name: string): Work<Lease | undefined> {
  const select = 'SELECT name, holder, fence, expires_at_ms FROM leases WHERE tenant_id = ? AND name = ?'
  const found = yield* row(select, tenant, name)
  return found && record(found)
}
