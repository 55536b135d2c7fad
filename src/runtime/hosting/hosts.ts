import { setTimeout as pause } from 'node:timers/promises'
import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Runtime } from '../runtime.ts'
import { tenantsWithDueWork } from './due-work.ts'
import type { AmbitHost } from './host.ts'
import { type HostProcess, type ProcessOptions, startProcess } from './process.ts'

/** The hosts of all tenants of a store, in one process. */
export interface Hosts {
  /** The host of the configured tenant: always open. */
  readonly home: AmbitHost
  /**
   * The host of a tenant, which stays open at least until it is released. It is opened at its first use, once for
   * all requests at the same time, and closed when it was not used for a while. Fails with `tenant.not_found`, or with `overloaded`
   * while too many tenants have one in use.
   */
  hold(tenant: TenantId): Promise<HeldHost>
  /** The tenants whose hosts are open now. */
  open(): readonly TenantId[]
  /** How many calls are carried out now. */
  underWay(): number
  /** Waits for calls under way. */
  close(): Promise<void>
}

export interface HeldHost {
  readonly host: AmbitHost
  release(): void
}

/** Opens the host of one tenant, as one of several of this process. */
type OpenOne = (tenant: TenantId, process: HostProcess) => Promise<AmbitHost>

export interface HostsOptions extends ProcessOptions {
  readonly idleMs?: number
  /** How often the tenants without an open host are searched for work that is due. */
  readonly sweepMs?: number
  readonly openMax?: number
}

export async function openHosts(
  ambit: Runtime,
  tenant: TenantId,
  openOne: OpenOne,
  options: HostsOptions = {},
): Promise<Hosts> {
  const { presenceMs = limits.presenceMs, sweepMs = limits.sweepMs } = options
  const process = await startProcess(ambit, tenant, options)
  const home = await openOne(tenant, process).catch(async (error: unknown) => {
    await process.stop()
    throw error
  })
  const others = openOthers(ambit, (other) => openOne(other, process), options)
  process.keepTidy({ tidyInTurn: async () => others.closeIdle() })
  const closing = new AbortController()
  const hold = async (wanted: TenantId): Promise<HeldHost> => {
    if (closing.signal.aborted)
      throw new Failure('host.closed', 'the host is closing', {}, 'retry later, or on another instance')
    return wanted === tenant ? { host: home, release: () => undefined } : others.hold(wanted)
  }
  // Opening a host does the work that is due in its tenant.
  const sweep = async (): Promise<void> => {
    for await (const due of tenantsWithDueWork(ambit, closing.signal))
      await hold(due).then(
        ({ release }) => release(),
        () => undefined,
      )
  }
  const sweepAgain = async (): Promise<void> => {
    // At the first sweep the leases of all processes that ended before this one began have lapsed.
    for (let ms = presenceMs; ; ms = sweepMs) {
      await pause(ms, undefined, { signal: closing.signal, ref: false })
      await sweep().catch(() => undefined)
    }
  }
  sweepAgain().catch(() => undefined)
  return {
    home,
    hold,
    open: () => [home, ...others.opened()].map((host) => host.tenant),
    underWay: () => [home, ...others.opened()].reduce((count, { gateway }) => count + gateway.underWay(), 0),
    close: async () => {
      closing.abort()
      await Promise.all([home.close(), others.close()])
      await process.stop()
    },
  }
}

/** One tenant's host, from its first request until it begins to close. */
interface Slot {
  readonly opening: Promise<AmbitHost>
  opened: AmbitHost | undefined
  usedAt: number
  /** How many requests wait for it to open. */
  waiting: number
}

/** The hosts of all tenants but the configured one. */
function openOthers(
  { clock }: Runtime,
  openOne: (tenant: TenantId) => Promise<AmbitHost>,
  { idleMs = limits.hostIdleMs, openMax = limits.openHostsMax }: HostsOptions,
) {
  const slots = new Map<TenantId, Slot>()
  const closing = new Map<TenantId, Promise<void>>()
  const add = (tenant: TenantId): Slot => {
    if (slots.size >= openMax && !closeOldest())
      throw new Failure('overloaded', 'too many tenants have calls at once', {}, 'retry later, or on another instance')
    // A request that comes while the host before still closes gets a new one after that.
    const opening = Promise.resolve(closing.get(tenant)).then(() => openOne(tenant))
    const slot: Slot = { opening, opened: undefined, usedAt: clock.now(), waiting: 0 }
    slots.set(tenant, slot)
    const keep = (host: AmbitHost): void => {
      slot.opened = host
    }
    opening.then(keep, () => slots.delete(tenant))
    return slot
  }
  const close = (tenant: TenantId, host: AmbitHost): void => {
    slots.delete(tenant)
    const ended = host.close().catch(() => undefined)
    closing.set(tenant, ended)
    void ended.then(() => closing.delete(tenant))
  }
  const closeOldest = (): boolean => {
    const [oldest] = idleSlots(slots).sort((one, other) => one.usedAt - other.usedAt)
    if (oldest !== undefined) close(oldest.tenant, oldest.host)
    return oldest !== undefined
  }
  return {
    opened: () => [...slots.values()].flatMap(({ opened }) => opened ?? []),
    hold: async (tenant: TenantId): Promise<HeldHost> => {
      const slot = slots.get(tenant) ?? add(tenant)
      slot.waiting++
      try {
        const host = await slot.opening
        const endHold = host.hold()
        const release = (): void => {
          slot.usedAt = clock.now()
          endHold()
        }
        return { host, release }
      } finally {
        slot.waiting--
      }
    },
    closeIdle: (): void => {
      const since = clock.now() - idleMs
      for (const { tenant, host, usedAt } of idleSlots(slots)) if (usedAt <= since) close(tenant, host)
    },
    close: async (): Promise<void> => {
      await Promise.allSettled([...slots.values()].map(({ opening }) => opening))
      for (const [tenant, { opened }] of slots) if (opened !== undefined) close(tenant, opened)
      await Promise.all(closing.values())
    },
  }
}

/** The hosts that can be closed without losing anything. */
const idleSlots = (slots: ReadonlyMap<TenantId, Slot>) =>
  [...slots].flatMap(([tenant, { opened: host, usedAt, waiting }]) =>
    host !== undefined && waiting === 0 && !host.isHeld() && host.gateway.isIdle() ? [{ tenant, host, usedAt }] : [],
  )
