import { type TenantId, tenantId, tenantIdPattern } from '../../model/identity/tenant-id.ts'
import { acquireLease, leaseOf, releaseLease } from '../../storage/tables/leases.ts'
import type { GatewayDeps } from '../deps.ts'

export type Presence = Awaited<ReturnType<typeof showPresence>>

/** What a process is seen by: `tenant` is its configured one, `ttlMs` how long others believe that it is alive. */
type PresenceDeps = Pick<GatewayDeps, 'store' | 'clock' | 'random' | 'tenant'> & { readonly ttlMs: number }

/** Shows this process to the others until it is stopped. A lease that lapses makes its calls indeterminate. */
export async function showPresence({ store, clock, random, tenant, ttlMs }: PresenceDeps) {
  // Every row has a tenant, and the calls of a process belong to many: its one lease lies with its configured tenant,
  // and the owner's name says which one that is. A tenant reserved for leases would be a row that no tenant owns.
  const owner = `host_${Buffer.from(random(12)).toString('hex')}@${tenant}`
  const renew = () => store.write(tenant, acquireLease({ name: leaseName(owner), holder: owner, ttlMs }, clock.now()))
  let lease = await renew()
  const timer = setInterval(() => {
    renew().then(
      (renewed) => {
        lease = renewed
      },
      () => undefined,
    )
  }, ttlMs / 3).unref()
  return {
    /** Names the process as the owner of its calls, in every tenant. */
    owner,
    stop: async (): Promise<void> => {
      clearInterval(timer)
      // One that cannot be given back lapses by itself.
      await store.write(tenant, releaseLease(lease)).catch(() => undefined)
    },
  }
}

export const isPresent = (deps: Pick<GatewayDeps, 'store' | 'tenant' | 'clock'>, owner: string): Promise<boolean> =>
  deps.store.read(function* () {
    const lease = yield* leaseOf(leaseTenant(owner, deps.tenant), leaseName(owner))
    return lease !== undefined && lease.expiresAtMs > deps.clock.now()
  })

const leaseName = (owner: string): string => `host:${owner}`

/** Processes of older versions served one tenant and named none: their lease lies with their calls. */
function leaseTenant(owner: string, tenant: TenantId): TenantId {
  const [, named = ''] = owner.split('@')
  return tenantIdPattern.test(named) ? tenantId(named) : tenant
}
