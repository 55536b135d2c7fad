import { Failure, quote } from '../../base/failure.ts'
import { grown } from '../../evidence/log.ts'
import type { LogRow } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { leavesFrom } from '../../storage/tables/events.ts'
import { withPurged } from '../../storage/tables/purge.ts'

/** A place in a tenant's log: how many events, and the frontier over them. */
export interface LogPlace {
  readonly size: number
  readonly log: string
}

export const logStart: LogPlace = { size: 0, log: '' }

const leavesPerRead = 1_000

/**
 * Grows the log from a known place over the rows that are in the store, up to a size, and answers where that leads.
 * Rows that are missing fail with `head.mismatch`. A row that is purged meanwhile leaves its leaf, so they can be taken
 * piece by piece.
 */
export async function replayLog(
  store: Store,
  tenant: TenantId,
  from: LogPlace,
  size: number,
  visit: (row: LogRow, log: string) => void = () => undefined,
): Promise<LogPlace> {
  let { size: at, log } = from
  if (size < at) throw mismatch(tenant, `the store ends at event ${size}, a head was signed at ${at}`)
  while (at < size) {
    const rows = await store.read(() => withPurged(leavesFrom, tenant, at, Math.min(leavesPerRead, size - at)))
    if (rows.length === 0) throw mismatch(tenant, `event ${at + 1} of ${size} is missing`)
    for (const row of rows) {
      if (row.sequence !== ++at) throw mismatch(tenant, `event ${at} of ${size} is missing`)
      log = grown(log, [row])
      visit(row, log)
    }
  }
  return { size: at, log }
}

export const mismatch = (tenant: string, why: string): Failure =>
  new Failure(
    'head.mismatch',
    `the records of tenant ${quote(tenant)} were cut or rewritten: ${why}`,
    { tenant },
    `restore the newest backup; after a deliberate restore of an older one run \`ambit store accept-loss ${tenant}\``,
  )
