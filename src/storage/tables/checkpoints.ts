import { Failure } from '../../base/failure.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Page, type PageOptions, pageBy } from '../page.ts'
import { checkpoints } from '../schema.ts'
import { type Change, record, row, rows, sql, type Work } from '../work.ts'

/** A signed head as the store keeps it: `body` is its JSON text, `hash` the hash of it, `log` what it is the root of. */
export interface StoredCheckpoint {
  readonly logSize: number
  readonly log: string
  readonly hash: string
  readonly body: string
}

/** Keeps a checkpoint that follows the one with the hash `prev` (null: none); if another was first, `head.conflict`. */
export const addCheckpoint = ({ logSize, log, hash, body }: StoredCheckpoint, prev: string | null): Change<void> =>
  function* (tenant) {
    // The tenant stays locked, so that the check and the insert are one step.
    yield [sql('SELECT tenant_id FROM tenants WHERE tenant_id = ? FOR UPDATE', tenant)]
    const last = yield* lastCheckpoint(tenant)
    if ((last?.hash ?? null) !== prev) throw new Failure('head.conflict', 'another head was signed in between')
    yield [{ into: checkpoints, rows: [[tenant, logSize, log, hash, body]] }]
  }

const select = 'SELECT log_size, log, hash, body FROM checkpoints WHERE tenant_id = ?'

export function* lastCheckpoint(tenant: TenantId): Work<StoredCheckpoint | undefined> {
  const found = yield* row(`${select} ORDER BY log_size DESC LIMIT 1`, tenant)
  return found && record(found)
}

export function* checkpointAt(tenant: TenantId, logSize: number): Work<StoredCheckpoint | undefined> {
  const found = yield* row(`${select} AND log_size = ?`, tenant, logSize)
  return found && record(found)
}

/** One page of them, newest first. */
export const listCheckpoints = (tenant: TenantId, options: PageOptions = {}): Work<Page<StoredCheckpoint>> => {
  const older = `${select} AND log_size < ? ORDER BY log_size DESC LIMIT ?`
  return pageBy('log_size', options, [older, tenant], record<StoredCheckpoint>, Number.MAX_SAFE_INTEGER)
}

/** All of them, oldest first. */
export function* allCheckpoints(tenant: TenantId): Work<readonly StoredCheckpoint[]> {
  return (yield* rows(`${select} ORDER BY log_size`, tenant)).map(record<StoredCheckpoint>)
}
