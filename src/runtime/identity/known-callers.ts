import { Failure } from '../../base/failure.ts'
import type { CallCaller } from '../../gateway/call.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { principalRecords } from '../../storage/tables/identities.ts'
import type { Runtime } from '../runtime.ts'
import { verifiedCaller } from './caller.ts'

/**
 * The holder of a key that the server was started with. A principal of that name lends its roles and permissions; a
 * revoked one is refused like a wrong key.
 */
export async function callerNamed(ambit: Runtime, tenant: TenantId, name: string, scopes: readonly string[]) {
  const principal = await ambit.store.read(() => principalRecords.find(tenant, name))
  if (principal !== undefined && principal.status !== 'active') throw notAccepted()
  return verifiedCaller({ id: name, type: 'api_key' }, tenant, principal, scopes)
}

/** One refusal for every reason: it does not reveal which names and keys exist. */
export const notAccepted = (): Failure =>
  new Failure('unauthenticated', 'the credentials are not accepted', {}, 'send a current key for this host')

/** A caller that began something earlier, as its principal stands now; undefined for one that is not active any more. */
export async function callerNow(ambit: Runtime, tenant: TenantId, kept: CallCaller): Promise<CallCaller | undefined> {
  if (kept.subject === null) return kept
  const { id } = kept.subject
  const principal = await ambit.store.read(() => principalRecords.find(tenant, id))
  if (principal === undefined) return kept
  const { status, permissions = [], revoked_permissions: revokedPermissions = [] } = principal
  return status === 'active' ? { ...kept, permissions, revokedPermissions } : undefined
}
