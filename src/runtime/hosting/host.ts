import { randomBytes } from 'node:crypto'
import { limits } from '../../base/limits.ts'
import { makeSeal } from '../../evidence/seal.ts'
import type { CallCaller } from '../../gateway/call.ts'
import type { GatewayDeps, Offer } from '../../gateway/deps.ts'
import { type Gateway, openGateway } from '../../gateway/gateway.ts'
import { everyKeyOf } from '../../keys/keyring.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Ambit } from '../ambit.ts'
import { openRetention } from '../evidence/retention.ts'
import type { Caller } from '../identity/caller.ts'

export type { CallCaller } from '../../gateway/call.ts'

/** The gateway of one tenant, and what is offered through it. */
export interface AmbitHost {
  readonly tenant: TenantId
  readonly hostId: string
  readonly gateway: Gateway
  /** A secret of 32 bytes of the tenant's own, the same in every process, for one purpose. Must not be written to. */
  secretFor(purpose: string): Uint8Array
  /** Offers something else from now on. Calls under way end as they began. */
  offer(next: Offer): void
  current(): Offer
  /** Calls back whenever something else is offered, until the returned function is called. */
  watch(changed: () => void): () => void
  close(): Promise<void>
}

export interface HostOptions {
  /** How long the calls of a process that is gone are believed to run. */
  readonly presenceMs?: number
}

/** Opens the door of one tenant: calls through it are decided by the offer and recorded in the tenant's evidence. */
export async function openHost(
  ambit: Ambit,
  tenant: TenantId,
  makeOffer: (hostId: string) => Offer,
  { presenceMs = limits.presenceMs }: HostOptions = {},
): Promise<AmbitHost> {
  const { host_id: hostId } = await ambit.store.read(() => getTenant(tenant))
  let offered = makeOffer(hostId)
  const watching = new Set<() => void>()
  const digest = await ambit.keyring.digest(hostId)
  const deps: GatewayDeps = {
    tenant,
    hostId,
    store: ambit.store,
    clock: ambit.clock,
    ids: ambit.ids,
    random: (bytes) => randomBytes(bytes),
    digest,
    seal: makeSeal({ hostId, tenant }),
    secret: (handle) => ambit.secrets.resolve(tenant, handle),
    signer: () => ambit.keyring.signer(hostId),
    hostKeys: async () => everyKeyOf(await ambit.keyring.publicKeys(hostId)),
    wrote: (events) => ambit.heads.grew(tenant, events),
    owner: `host_${randomBytes(12).toString('hex')}`,
    presenceMs,
    offer: () => offered,
    retain: openRetention(ambit, tenant, hostId),
  }
  const gateway = await openGateway(deps)
  const secrets = new Map<string, Uint8Array>()
  const secretFor = (purpose: string): Uint8Array => {
    const made = () => Buffer.from(digest(['ambit-secret-for', purpose]).replace('hmac-sha256:', ''), 'hex')
    const secret = secrets.get(purpose) ?? made()
    secrets.set(purpose, secret)
    return secret
  }
  return {
    tenant,
    hostId,
    gateway,
    secretFor,
    offer: (next) => {
      offered = next
      for (const changed of watching) changed()
    },
    current: () => offered,
    watch: (changed) => {
      watching.add(changed)
      return () => void watching.delete(changed)
    },
    close: () => gateway.close(),
  }
}

/** The caller as the gateway sees it. Somebody whom nobody verified calls under a name that no key can have. */
export const callerOf = ({ subject, scopes, permissions, revokedPermissions }: Caller): CallCaller => ({
  subject: subject.verified === true ? subject : null,
  name: subject.verified === true ? `principal:${subject.id}` : `unverified:${subject.id}`,
  scopes,
  permissions,
  revokedPermissions,
})
