import { callScope } from '../../gateway/journal.ts'
import { isPresent } from '../../gateway/recovery/presence.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { allPages } from '../../storage/page.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { runningClaims } from '../../storage/tables/claims.ts'
import { retainedSince } from '../evidence/purge.ts'
import { oldCorrelations } from '../evidence/purgeable.ts'
import { everyTenant } from '../identity/tenants.ts'
import type { Runtime } from '../runtime.ts'

/**
 * The tenants, suspended ones too, with work that an open host does by itself: calls of processes that are gone, approvals
 * past their time, evidence past its retention. Costs a few small queries for each tenant.
 */
export async function* tenantsWithDueWork(ambit: Runtime, signal: AbortSignal): AsyncGenerator<TenantId> {
  for (const { tenant_id } of await everyTenant(ambit)) {
    if (signal.aborted) return
    const tenant = tenantId(tenant_id)
    if ((await hasOverdue(ambit, tenant)) || (await hasLeftCalls(ambit, tenant))) yield tenant
  }
}

const hasOverdue = (ambit: Runtime, tenant: TenantId): Promise<boolean> =>
  ambit.store.read(function* () {
    const overdue = yield* approvalRecords.overdue(tenant, ambit.clock.now(), 1)
    const before = retainedSince(ambit)
    if (overdue.length > 0 || before === undefined) return overdue.length > 0
    return (yield* oldCorrelations(tenant, before, 0)).ids.length > 0
  })

async function hasLeftCalls({ store, clock }: Runtime, tenant: TenantId): Promise<boolean> {
  const claims = await store.read(() => allPages((page) => runningClaims(tenant, callScope, page)))
  for (const owner of new Set(claims.map((claim) => claim.owner)))
    if (!(await isPresent({ store, clock, tenant }, owner))) return true
  return false
}
