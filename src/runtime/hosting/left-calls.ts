import { callScope } from '../../gateway/journal.ts'
import { isPresent } from '../../gateway/recovery/presence.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { allPages } from '../../storage/page.ts'
import { runningClaims } from '../../storage/tables/claims.ts'
import { allTenants } from '../identity/tenants.ts'
import { wholeList } from '../pages.ts'
import type { Runtime } from '../runtime.ts'

/** The tenants with calls of processes that are gone, suspended ones too. Costs one small query for each tenant. */
export async function* tenantsWithLeftCalls(ambit: Runtime, signal: AbortSignal): AsyncGenerator<TenantId> {
  for (const { tenant_id } of await wholeList((page) => allTenants(ambit, page))) {
    if (signal.aborted) return
    const tenant = tenantId(tenant_id)
    if (await hasLeftCalls(ambit, tenant)) yield tenant
  }
}

async function hasLeftCalls({ store, clock }: Runtime, tenant: TenantId): Promise<boolean> {
  const claims = await store.read(() => allPages((page) => runningClaims(tenant, callScope, page)))
  for (const owner of new Set(claims.map((claim) => claim.owner)))
    if (!(await isPresent({ store, clock, tenant }, owner))) return true
  return false
}
