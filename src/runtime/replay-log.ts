import { Failure, quote } from '../base/failure.ts'
import { grown } from '../evidence/log.ts'
import type { Leaf } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { leavesFrom } from '../storage/events.ts'
import type { Store } from '../storage/store.ts'

/** A place in a tenant's log: how many events, and the frontier over them. */
export interface LogPlace {
  readonly size: number
  readonly log: string
}

export const logStart: LogPlace = { size: 0, log: '' }

const leavesPerRead = 1_000

/**
 * Grows the log from a known place over the rows that are in the store, up to a size, and answers where that leads.
 * Rows that are missing fail with `head.mismatch`. The rows cannot change under it, so it takes them piece by piece.
 */
export async function replayLog(
  store: Store,
  tenant: TenantId,
  from: LogPlace,
  size: number,
  visit: (leaf: Leaf, log: string) => void = () => undefined,
): Promise<LogPlace> {
  let { size: at, log } = from
  if (size < at) throw mismatch(tenant, `the store ends at event ${size}, a head was signed at ${at}`)
  while (at < size) {
    const leaves = await store.read(() => leavesFrom(tenant, at, Math.min(leavesPerRead, size - at)))
    if (leaves.length === 0) throw mismatch(tenant, `event ${at + 1} of ${size} is missing`)
    for (const leaf of leaves) {
      if (leaf.sequence !== ++at) throw mismatch(tenant, `event ${at} of ${size} is missing`)
      log = grown(log, [leaf])
      visit(leaf, log)
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
