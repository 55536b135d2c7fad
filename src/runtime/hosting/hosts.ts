import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Runtime } from '../runtime.ts'
import type { AmbitHost } from './host.ts'
import { tenantsWithLeftCalls } from './left-calls.ts'
import { type HostProcess, type ProcessOptions, startProcess } from './process.ts'

/** The hosts of all tenants of a store, in one process. */
export interface Hosts<H extends AmbitHost = AmbitHost> {
  /** The host of the configured tenant: always open. */
  readonly home: H
  /**
   * The host of a tenant, which stays open at least until it is released. It is opened at its first use, once for all who
   * ask at the same time, and closed when it was not used for a while. Fails with `tenant.not_found`, or with `overloaded`
   * while too many tenants have one in use.
   */
  hold(tenant: TenantId): Promise<HeldHost<H>>
  /** The tenants whose hosts are open now. */
  open(): readonly TenantId[]
  /** How many calls are carried out now. */
  underWay(): number
  /** Waits for calls under way. */
  close(): Promise<void>
}

export interface HeldHost<H extends AmbitHost = AmbitHost> {
  readonly host: H
  release(): void
}

/** Opens the host of one tenant, as one of several of this process. */
type OpenOne<H extends AmbitHost> = (tenant: TenantId, process: HostProcess) => Promise<H>

export interface HostsOptions extends ProcessOptions {
  readonly idleMs?: number
  readonly openMax?: number
}

export async function openHosts<H extends AmbitHost>(
  ambit: Runtime,
  tenant: TenantId,
  openOne: OpenOne<H>,
  options: HostsOptions = {},
): Promise<Hosts<H>> {
  const { presenceMs = limits.presenceMs } = options
  const process = await startProcess(ambit, tenant, options)
  const home = await openOne(tenant, process).catch(async (error: unknown) => {
    await process.stop()
    throw error
  })
  const others = openOthers(ambit, (other) => openOne(other, process), options)
  process.keepTidy({ tidyInTurn: async () => others.closeIdle() })
  const closing = new AbortController()
  const hold = async (wanted: TenantId): Promise<HeldHost<H>> => {
    if (closing.signal.aborted)
      throw new Failure('host.closed', 'the host is closing', {}, 'retry later, or on another instance')
    return wanted === tenant ? { host: home, release: () => undefined } : others.hold(wanted)
  }
  const endLeftCalls = async (): Promise<void> => {
    // To open a host ends the calls that were left in its tenant.
    for await (const left of tenantsWithLeftCalls(ambit, closing.signal))
      await hold(left).then(
        ({ release }) => release(),
        () => undefined,
      )
  }
  // By then the lease of every process that ended before this one began has lapsed.
  const timer = setTimeout(() => void endLeftCalls().catch(() => undefined), presenceMs).unref()
  return {
    home,
    hold,
    open: () => [home, ...others.opened()].map((host) => host.tenant),
    underWay: () => [home, ...others.opened()].reduce((count, { gateway }) => count + gateway.underWay(), 0),
    close: async () => {
      clearTimeout(timer)
      closing.abort()
      await Promise.all([home.close(), others.close()])
      await process.stop()
    },
  }
}

/** One tenant's host, from the moment when somebody asks for it until it begins to close. */
interface Slot<H> {
  readonly opening: Promise<H>
  opened: H | undefined
  usedAt: number
  /** How many wait for it to open. */
  waiting: number
}

/** The hosts of all tenants but the configured one. */
function openOthers<H extends AmbitHost>(
  { clock }: Runtime,
  openOne: (tenant: TenantId) => Promise<H>,
  { idleMs = limits.hostIdleMs, openMax = limits.openHostsMax }: HostsOptions,
) {
  const slots = new Map<TenantId, Slot<H>>()
  const closing = new Map<TenantId, Promise<void>>()
  const add = (tenant: TenantId): Slot<H> => {
    if (slots.size >= openMax && !closeOldest())
      throw new Failure('overloaded', 'too many tenants have calls at once', {}, 'retry later, or on another instance')
    // Whoever comes while the host before still closes gets a new one after that.
    const opening = Promise.resolve(closing.get(tenant)).then(() => openOne(tenant))
    const slot: Slot<H> = { opening, opened: undefined, usedAt: clock.now(), waiting: 0 }
    slots.set(tenant, slot)
    const keep = (host: H): void => {
      slot.opened = host
    }
    opening.then(keep, () => slots.delete(tenant))
    return slot
  }
  const close = (tenant: TenantId, host: H): void => {
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
    hold: async (tenant: TenantId): Promise<HeldHost<H>> => {
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

/** Those that can be closed without losing anything. */
const idleSlots = <H extends AmbitHost>(slots: ReadonlyMap<TenantId, Slot<H>>) =>
  [...slots].flatMap(([tenant, { opened: host, usedAt, waiting }]) =>
    host !== undefined && waiting === 0 && !host.isHeld() && host.gateway.isIdle() ? [{ tenant, host, usedAt }] : [],
  )
