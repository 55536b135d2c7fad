import { formatTime } from '../../base/time.ts'
import { inSteps, type Steps } from '../../gateway/recovery/steps.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Ambit } from '../ambit.ts'
import { type Caller, operator } from '../identity/caller.ts'
import { oldCorrelations } from './old-correlations.ts'
import { openPurging } from './purge.ts'

const dayMs = 86_400_000
/**
 * What a running host does about correlations that are older than the configuration wants: a bounded number each time it
 * is called. Answers how many went.
 */
export function openRetention(ambit: Ambit, tenant: TenantId, hostId: string): (steps: Steps) => Promise<number> {
  const { retention } = ambit.settings
  if (retention === undefined) return async () => 0
  const host: Caller = {
    ...operator(tenant),
    subject: { id: hostId, type: 'host', verified: true, tenant },
  }
  let after = 0
  return async (steps) => {
    const before = formatTime(ambit.clock.now() - retention.days * dayMs)
    const purging = await openPurging(ambit, host, { before })
    let purged = 0
    await inSteps(steps, async () => {
      const batch = await oldCorrelations(ambit.store, tenant, before, after)
      after = batch.done ? 0 : batch.after
      if (batch.ids.length > 0) purged += (await purging.take(batch.ids, false)).correlations
      return !batch.done
    })
    return purged
  }
}
