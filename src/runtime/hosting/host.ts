import { randomBytes } from 'node:crypto'
import { limits } from '../../base/limits.ts'
import { makeSeal } from '../../evidence/seal.ts'
import type { GatewayDeps } from '../../gateway/deps.ts'
import { openGateway } from '../../gateway/gateway.ts'
import { type Presence, showPresence } from '../../gateway/recovery/presence.ts'
import { everyKeyOf } from '../../keys/keyring.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { runId } from '../../model/run-id.ts'
import { wakeLeg } from '../../storage/tables/runs/legs.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import { openRetention } from '../evidence/purge.ts'
import { operator } from '../identity/caller.ts'
import { callerNow } from '../identity/known-callers.ts'
import { endpointsOf, loadPacks } from '../packs/registry.ts'
import { openRuns, type Runs } from '../runs/runs.ts'
import type { Runtime } from '../runtime.ts'
import type { Offer } from './offer.ts'

export type { CallCaller } from '../../gateway/call.ts'

/** The gateway of one tenant, and what is offered through it. */
export type AmbitHost = Readonly<Awaited<ReturnType<typeof openHost>>>

export interface HostOptions {
  /** How long the calls of a process that is gone are believed to run. */
  readonly presenceMs?: number
  /** Where one process has several hosts: what shows all of them. It tidies them up, too. */
  readonly process?: Presence
  /** Takes up only the runs that it is asked to resume or cancel. */
  readonly onlyAsked?: boolean
}

/** Opens the door of one tenant: calls through it are decided by the offer and recorded in the tenant's evidence. */
export async function openHost(
  ambit: Runtime,
  tenant: TenantId,
  makeOffer: (hostId: string) => Offer,
  { process: shared, presenceMs = limits.presenceMs, onlyAsked }: HostOptions = {},
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
  let runs: Runs | undefined
  const deps: GatewayDeps = {
    ...{ tenant, hostId, store: ambit.store, clock: ambit.clock, ids: ambit.ids, random: randomBytes, digest },
    seal: makeSeal({ hostId, tenant }),
    secret: (handle) => ambit.secrets.resolve(tenant, handle),
    signer: () => ambit.keyring.signer(hostId),
    hostKeys: async () => everyKeyOf(await ambit.keyring.publicKeys(hostId)),
    wrote: (events) => {
      ambit.heads.noteEvents(tenant, events)
      // A run waits for what people decide: it is looked at at once.
      if (events.some(({ eventType }) => /^approval_(?:granted|denied)$/.test(eventType))) runs?.kick()
    },
    decided: ({ correlation: { correlation_id: id } }) =>
      runId.safeParse(id).success ? [wakeLeg(id, ambit.clock.now())] : [],
    owner: process.owner,
    offer: () => offered,
    retain: openRetention(ambit, tenant, hostId),
  }
  const gateway = await openGateway(deps).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  runs = openRuns({
    ...{ gateway, deps, agents: () => offered.agents, onlyAsked, hold: () => hold() },
    callerNow: (kept) => callerNow(ambit, tenant, kept),
    loadPacks: (refs) => loadPacks(ambit, operator(tenant), refs, endpointsOf(offered.registry)),
  })
  const opened = runs
  const hold = (): (() => void) => {
    const holder = Symbol('holder')
    holders.add(holder)
    return () => void holders.delete(holder)
  }
  const timer = shared === undefined && setInterval(() => void gateway.tidyInTurn(), limits.tidyMs).unref()
  return {
    tenant,
    hostId,
    gateway,
    runs: opened,
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
    hold,
    isHeld: () => holders.size > 0,
    /** Aborts when the host closes. */
    closing: closing.signal as AbortSignal,
    close: async (): Promise<void> => {
      if (timer) clearInterval(timer)
      closing.abort()
      const left = opened.close()
      await gateway.close()
      await left
      await stop()
    },
  }
}
