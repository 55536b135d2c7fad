import { limits } from '../../base/limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { isOwnCorrelation } from '../../model/wire/correlation.ts'
import type { Store } from '../../storage/store.ts'
import { placesFrom } from '../../storage/tables/purge.ts'

export interface OldBatch {
  /** Correlations with an event from before the time; whether all of it is, is for the purge to say. */
  readonly ids: readonly string[]
  /** How far the batch went: the next one begins there. */
  readonly after: number
  /** True if what comes next is not that old. */
  readonly done: boolean
}

/** A few of the oldest correlations, strictly after a sequence number: a bounded piece of work, however much is stored. */
export async function oldCorrelations(
  store: Store,
  tenant: TenantId,
  before: string,
  after: number,
): Promise<OldBatch> {
  const places = await store.read(() => placesFrom(tenant, after, limits.pageRowsMax))
  const ids = new Set<string>()
  let last = after
  for (const { sequence, correlationId, timestamp } of places) {
    const wanted = timestamp < before && !isOwnCorrelation(correlationId) && !ids.has(correlationId)
    if (wanted && ids.size === limits.purgedPerTurnMax) return { ids: [...ids], after: last, done: false }
    if (wanted) ids.add(correlationId)
    last = sequence
  }
  const done = places.length < limits.pageRowsMax || places.every(({ timestamp }) => timestamp >= before)
  return { ids: [...ids], after: last, done }
}
