import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { within } from '../../gateway/within.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Runtime } from '../runtime.ts'

/** Answers why the store cannot be used, or undefined while it can. */
export type Readiness = () => Promise<unknown>

/** Anybody may ask, so the store is read once for all who ask within a moment, and nobody waits for it without end. */
export function openReadiness({ store }: Runtime, tenant: TenantId): Readiness {
  let reading: Promise<unknown> | undefined
  const forget = (): void => {
    reading = undefined
  }
  return () => {
    reading ??= failureOf(store.read(() => getTenant(tenant))).finally(() => setTimeout(forget, limits.readyMs).unref())
    return within(reading, limits.storeWaitMs, late)
  }
}

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => undefined).catch((error) => error)

const late = (): Failure => new Failure('store.unavailable', 'the store does not answer')
