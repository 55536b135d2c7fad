import { acquireLease, releaseLease } from '../../storage/tables/leases.ts'
import type { GatewayDeps } from '../deps.ts'

/** The lease by which others see that a process is there. */
export const presenceName = (owner: string): string => `host:${owner}`

/** Shows this process to the others until it is stopped. A lease that lapses makes its calls indeterminate. */
export async function showPresence(deps: GatewayDeps): Promise<{ stop(): Promise<void> }> {
  const { store, tenant, owner, clock, presenceMs: ttlMs } = deps
  const renew = () =>
    store.write(tenant, acquireLease({ name: presenceName(owner), holder: owner, ttlMs }, clock.now()))
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
    stop: async () => {
      clearInterval(timer)
      // One that cannot be given back lapses by itself.
      await store.write(tenant, releaseLease(lease)).catch(() => undefined)
    },
  }
}
