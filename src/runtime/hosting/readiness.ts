import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { within } from '../../gateway/within.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Runtime } from '../runtime.ts'

/** Answers why the store cannot be used, or undefined while it can. */
export type Readiness = () => Promise<unknown>

/** Anyone may ask, so requests within a moment share one read of the store, and none waits for it without end. */
export function openReadiness({ store }: Runtime, tenant: TenantId): Readiness {
  let reading: Promise<unknown> | undefined
  const read = async (): Promise<unknown> => {
    const failure = await store
      .read(() => getTenant(tenant))
      .then(() => undefined)
      .catch((error) => error)
    setTimeout(() => (reading = undefined), limits.readyMs).unref()
    return failure
  }
  const late = (): Failure => new Failure('store.unavailable', 'the store does not answer')
  return () => {
    reading ??= read()
    return within(reading, limits.storeWaitMs, late)
  }
}
