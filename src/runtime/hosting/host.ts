import { randomBytes } from 'node:crypto'
import { limits } from '../../base/limits.ts'
import { makeSeal } from '../../evidence/seal.ts'
import type { CallCaller } from '../../gateway/call.ts'
import type { GatewayDeps, Offer } from '../../gateway/deps.ts'
import { openGateway } from '../../gateway/gateway.ts'
import { type Presence, showPresence } from '../../gateway/recovery/presence.ts'
import { everyKeyOf } from '../../keys/keyring.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import { openRetention } from '../evidence/purge.ts'
import type { Caller } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'

export type { CallCaller } from '../../gateway/call.ts'

/** The gateway of one tenant, and what is offered through it. */
export type AmbitHost = Readonly<Awaited<ReturnType<typeof openHost>>>

export interface HostOptions {
  /** How long the calls of a process that is gone are believed to run. */
  readonly presenceMs?: number
  /** Where one process has several hosts: what shows all of them. It tidies them up, too. */
  readonly process?: Presence
}

/** Opens the door of one tenant: calls through it are decided by the offer and recorded in the tenant's evidence. */
export async function openHost(
  ambit: Runtime,
  tenant: TenantId,
  makeOffer: (hostId: string) => Offer,
  { process: shared, presenceMs = limits.presenceMs }: HostOptions = {},
) {
  const { host_id: hostId } = await ambit.store.read(() => getTenant(tenant))
  let offered = makeOffer(hostId)
  const watching = new Set<() => void>()
  const holders = new Set<symbol>()
  const closing = new AbortController()
  const digest = await ambit.keyring.digest(hostId)
  const process = shared ?? (await showPresence({ ...ambit, random: randomBytes, tenant, ttlMs: presenceMs }))
  const stop = async () => {
    if (shared === undefined) await process.stop()
  }
  const deps: GatewayDeps = {
    tenant,
    hostId,
    store: ambit.store,
    clock: ambit.clock,
    ids: ambit.ids,
    random: randomBytes,
    digest,
    seal: makeSeal({ hostId, tenant }),
    secret: (handle) => ambit.secrets.resolve(tenant, handle),
    signer: () => ambit.keyring.signer(hostId),
    hostKeys: async () => everyKeyOf(await ambit.keyring.publicKeys(hostId)),
    wrote: (events) => ambit.heads.noteEvents(tenant, events),
    owner: process.owner,
    offer: () => offered,
    retain: openRetention(ambit, tenant, hostId),
  }
  const gateway = await openGateway(deps).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  const timer = shared === undefined && setInterval(() => void gateway.tidyInTurn(), limits.tidyMs).unref()
  return {
    tenant,
    hostId,
    gateway,
    /** A secret of 32 bytes of the tenant's own, the same in every process, for one purpose. */
    secretFor: (purpose: string): Uint8Array =>
      Buffer.from(digest(['ambit-secret-for', purpose]).replace('hmac-sha256:', ''), 'hex'),
    /** Offers something else from now on. Calls under way end as they began. */
    offer: (next: Offer): void => {
      offered = next
      for (const changed of watching) changed()
    },
    current: () => offered,
    /** Calls back whenever something else is offered, until the returned function is called. */
    watch: (changed: () => void): (() => void) => {
      watching.add(changed)
      return () => void watching.delete(changed)
    },
    /** Keeps a host that would be closed when idle open, until the returned function is called. */
    hold: (): (() => void) => {
      const holder = Symbol('holder')
      holders.add(holder)
      return () => void holders.delete(holder)
    },
    isHeld: () => holders.size > 0,
    /** Aborts when the host closes. */
    closing: closing.signal,
    close: async (): Promise<void> => {
      if (timer) clearInterval(timer)
      closing.abort()
      await gateway.close()
      await stop()
    },
  }
}

/** The caller as the gateway sees it. A caller that is not verified has a name that no key can have. */
export const callerOf = ({ subject, name, scopes, permissions, revokedPermissions }: Caller): CallCaller => ({
  subject: subject.verified === true ? subject : null,
  name: subject.verified === true ? `principal:${subject.id}` : (name ?? `unverified:${subject.id}`),
  scopes,
  permissions,
  revokedPermissions,
})
