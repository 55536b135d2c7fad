import { defined } from '../base/object.ts'
import { version } from '../base/version.ts'
import type { CallCaller } from '../gateway/call.ts'
import type { HostDescriptor, IdentityDocument } from '../model/wire/host.ts'
import type { AmbitHost } from '../runtime/hosting/host.ts'
import { operator } from '../runtime/identity/caller.ts'
import { identityOf } from '../runtime/identity/tenants.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** Versions of the wire this host speaks; the last is the one it takes for granted. */
export const wireVersions = ['0.1', '0.2'] as const
export const wireVersion = '0.2'

/** What a host says of itself to one caller: what they may call, and how its evidence can be checked. */
export async function manifestOf(ambit: Runtime, host: AmbitHost, caller: CallCaller): Promise<HostDescriptor> {
  const { assurance, key_id, public_key, host_identity } = await identityFor(ambit, host)
  return {
    id: host.hostId,
    version,
    protocol_version: wireVersion,
    supported_versions: [...wireVersions],
    kind: 'service',
    host_version: version,
    capabilities: [...host.gateway.discover(caller)],
    evidence: { store: ambit.settings.store.driver, append_only: true },
    assurance,
    ...defined({ key_id, public_key, host_identity }),
  }
}

/** The public identity of a tenant's host. */
export const identityFor = (ambit: Runtime, { tenant }: Pick<AmbitHost, 'tenant'>): Promise<IdentityDocument> =>
  identityOf(ambit, operator(tenant))
