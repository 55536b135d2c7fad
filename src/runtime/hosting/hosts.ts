import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { callScope } from '../../gateway/journal.ts'
import { isPresent, type Presence, showPresence } from '../../gateway/recovery/presence.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { allPages } from '../../storage/page.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { runningClaims } from '../../storage/tables/claims.ts'
import { dueLegs } from '../../storage/tables/runs/legs.ts'
import { retainedSince } from '../evidence/purge.ts'
import { oldCorrelations } from '../evidence/purgeable.ts'
import { everyTenant } from '../identity/tenants.ts'
import type { Runtime } from '../runtime.ts'
import type { AmbitHost, HostOptions } from './host.ts'

/** The hosts of all tenants of a store, in one process. */
export type Hosts = Awaited<ReturnType<typeof openHosts>>

export interface HeldHost {
  readonly host: AmbitHost
  release(): void
}

export interface HostsOptions extends Pick<HostOptions, 'presenceMs'> {
  readonly tidyMs?: number
  readonly idleMs?: number
  /** How often the tenants without an open host are searched for work that is due. */
  readonly sweepMs?: number
  readonly openMax?: number
}

export async function openHosts(
  ambit: Runtime,
  tenant: TenantId,
  openOne: (tenant: TenantId, process: Presence) => Promise<AmbitHost>,
  options: HostsOptions = {},
) {
  const { presenceMs = limits.presenceMs, tidyMs = limits.tidyMs, sweepMs = limits.sweepMs } = options
  const process = await showPresence({ ...ambit, random: randomBytes, tenant, ttlMs: presenceMs })
  const { hold, opened, closeIdle, closeAll } = openSlots(ambit, (each) => openOne(each, process), options)
  // Held to the end, so that it is never idle.
  const { host: home } = await hold(tenant).catch(async (error: unknown) => {
    await process.stop()
    throw error
  })
  const closing = new AbortController()
  /** A turn that takes long is not overtaken by the next. */
  const repeat = async (work: () => Promise<void>, everyMs: number, firstMs = everyMs): Promise<void> => {
    for (let ms = firstMs; ; ms = everyMs) {
      await pause(ms, undefined, { signal: closing.signal, ref: false })
      await work().catch(() => undefined)
    }
  }
  const tidy = async (): Promise<void> => {
    closeIdle()
    for (const host of opened()) if (!host.closing.aborted) await host.gateway.tidyInTurn()
  }
  /**
   * The host of a tenant, which stays open at least until it is released. It is opened at its first use, once for all
   * requests at the same time, and closed when it was not used for a while. Fails with `tenant.not_found`, or with
   * `overloaded` while too many tenants have one in use.
   */
  const holdUnlessClosing = async (wanted: TenantId): Promise<HeldHost> => {
    if (!closing.signal.aborted) return hold(wanted)
    throw new Failure('host.closed', 'the host is closing', {}, 'retry later, or on another instance')
  }
  // Opening a host does the work that is due in its tenant.
  const sweep = async (): Promise<void> => {
    for await (const due of tenantsWithDueWork(ambit, closing.signal))
      await holdUnlessClosing(due).then(
        ({ release }) => release(),
        () => undefined,
      )
  }
  repeat(tidy, tidyMs).catch(() => undefined)
  // At the first sweep the leases of all processes that ended before this one began have lapsed.
  repeat(sweep, sweepMs, presenceMs).catch(() => undefined)
  return {
    /** The host of the configured tenant: always open. */
    home,
    hold: holdUnlessClosing,
    /** The tenants whose hosts are open now. */
    open: (): readonly TenantId[] => opened().map((host) => host.tenant),
    /** How many calls are carried out now. */
    underWay: (): number => opened().reduce((count, { gateway }) => count + gateway.underWay(), 0),
    /** Waits for calls under way. */
    close: async (): Promise<void> => {
      closing.abort()
      await closeAll()
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

/** The hosts of all tenants, the configured one first. */
function openSlots(
  { clock }: Runtime,
  openOne: (tenant: TenantId) => Promise<AmbitHost>,
  { idleMs = limits.hostIdleMs, openMax = limits.openHostsMax }: HostsOptions,
) {
  const slots = new Map<TenantId, Slot>()
  const closing = new Map<TenantId, Promise<void>>()
  const add = (tenant: TenantId): Slot => {
    // The configured tenant does not count.
    if (slots.size > openMax && !closeOldest())
      throw new Failure('overloaded', 'too many tenants have calls at once', {}, 'retry later, or on another instance')
    // A request that comes while the host before still closes gets a new one after that.
    const opening = Promise.resolve(closing.get(tenant)).then(() => openOne(tenant))
    const slot: Slot = { opening, opened: undefined, usedAt: clock.now(), waiting: 0 }
    slots.set(tenant, slot)
    opening.then(
      (host) => Object.assign(slot, { opened: host }),
      () => slots.delete(tenant),
    )
    return slot
  }
  const close = (host: AmbitHost): void => {
    slots.delete(host.tenant)
    const ended = host.close().catch(() => undefined)
    closing.set(host.tenant, ended)
    void ended.then(() => closing.delete(host.tenant))
  }
  /** The hosts that can be closed without losing anything, the one unused for longest first. */
  const idle = () =>
    [...slots.values()]
      .flatMap(({ opened: host, usedAt, waiting }) => (host && waiting === 0 ? [{ host, usedAt }] : []))
      .filter(({ host }) => !host.isHeld() && host.gateway.isIdle())
      .toSorted((one, other) => one.usedAt - other.usedAt)
  const closeOldest = (): boolean => {
    const [oldest] = idle()
    if (oldest !== undefined) close(oldest.host)
    return oldest !== undefined
  }
  const opened = () => [...slots.values()].flatMap(({ opened }) => opened ?? [])
  return {
    opened,
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
      for (const { host, usedAt } of idle()) if (usedAt <= since) close(host)
    },
    closeAll: async (): Promise<void> => {
      await Promise.allSettled([...slots.values()].map(({ opening }) => opening))
      for (const host of opened()) close(host)
      await Promise.all(closing.values())
    },
  }
}

/** The tenants, suspended ones too, with work that an open host does by itself. A few small queries for each. */
async function* tenantsWithDueWork(ambit: Runtime, signal: AbortSignal): AsyncGenerator<TenantId> {
  for (const { tenant_id } of await everyTenant(ambit)) {
    if (signal.aborted) return
    const tenant = tenantId(tenant_id)
    if ((await hasOverdue(ambit, tenant)) || (await hasLeftWork(ambit, tenant))) yield tenant
  }
}

const hasOverdue = (ambit: Runtime, tenant: TenantId): Promise<boolean> =>
  ambit.store.read(function* () {
    const overdue = yield* approvalRecords.overdue(tenant, ambit.clock.now(), 1)
    const before = retainedSince(ambit)
    if (overdue.length > 0 || before === undefined) return overdue.length > 0
    return (yield* oldCorrelations(tenant, before, 0)).ids.length > 0
  })

/** Calls and runs of processes that are gone, and runs that are due and in no hands. */
async function hasLeftWork({ store, clock }: Runtime, tenant: TenantId): Promise<boolean> {
  const claims = await store.read(() => allPages((page) => runningClaims(tenant, callScope, page)))
  const due = await store.read(() => dueLegs(tenant, clock.now(), limits.legsAtOnceMax))
  for (const owner of new Set([...claims, ...due].map((held) => held.owner)))
    if (owner === null || !(await isPresent({ store, clock, tenant }, owner))) return true
  return false
}
