import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { grown, leafOf } from '../../evidence/log.ts'
import type { Leaf, LogRow } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { leavesFrom } from '../../storage/tables/events.ts'
import { isPurged, withPurged } from '../../storage/tables/purge.ts'

/** A place in a tenant's log: how many events, and the frontier over them. */
export interface LogPlace {
  readonly size: number
  readonly log: string
}

export const logStart: LogPlace = { size: 0, log: '' }

/**
 * Grows the log from a known place over the rows in the store, up to a size, and returns the place it leads to. Missing
 * rows fail with `head.mismatch`.
 */
export async function replayLog(
  store: Store,
  tenant: TenantId,
  from: LogPlace,
  size: number,
  visit: (row: LogRow, log: string) => void = () => undefined,
): Promise<LogPlace> {
  let { log } = from
  if (size < from.size) throw mismatch(tenant, `the store ends at event ${size}, a head was signed at ${from.size}`)
  for await (const rows of readLog(store, tenant, from.size, size))
    for (const row of rows) {
      log = grown(log, [row])
      visit(row, log)
    }
  return { size, log }
}

const leavesPerRead = 1_000

/** The rows of the log after an event, piece by piece: a row that is purged meanwhile leaves its leaf. */
async function* readLog(store: Store, tenant: TenantId, after: number, size: number) {
  for (let at = after; at < size; ) {
    const rows = await store.read(() => withPurged(leavesFrom, tenant, at, Math.min(leavesPerRead, size - at)))
    if (rows.length === 0) throw mismatch(tenant, `event ${at + 1} of ${size} is missing`)
    for (const { sequence } of rows) if (sequence !== ++at) throw mismatch(tenant, `event ${at} of ${size} is missing`)
    yield rows
  }
}

export const mismatch = (tenant: string, why: string): Failure =>
  new Failure(
    'head.mismatch',
    `the records of tenant ${quote(tenant)} were cut or rewritten: ${why}`,
    { tenant },
    `restore the newest backup; after a deliberate restore of an older one run \`ambit store accept-loss ${tenant}\``,
  )

/** The newest events that this process wrote, until a head covers them: the store must still hold them, unchanged. */
export interface UnsignedEvents {
  note(tenant: TenantId, events: readonly Leaf[]): void
  /** What the store must hold from now on. To be called before the rows are read. */
  expect(tenant: TenantId): Expectation
}

export interface Expectation {
  /** Fails with `head.mismatch` when the store ends before the last event that was written. */
  checkSize(size: number): void
  /** Fails with `head.mismatch` when a row is not the one that was written. */
  check(row: LogRow): void
  /** Reads and checks all events written up to a number. */
  checkUpTo(store: Store, size: number): Promise<void>
  /** Forgets the events that a head covers. */
  forgetUpTo(size: number): void
}

export function openUnsignedEvents(): UnsignedEvents {
  const byTenant = new Map<TenantId, Map<number, Leaf>>()
  return {
    note: (tenant, events) => {
      const known = byTenant.get(tenant) ?? new Map<number, Leaf>()
      byTenant.set(tenant, known)
      for (const { sequence, correlationId, contentHash } of events)
        known.set(sequence, { sequence, correlationId, contentHash })
      // Starting to iterate over a map with many deleted entries is slow.
      if (known.size <= limits.unsignedEventsKeptMax) return
      for (const sequence of known.keys()) {
        if (known.size <= limits.unsignedEventsKeptMax) break
        known.delete(sequence)
      }
    },
    expect: (tenant) => expectation(tenant, byTenant),
  }
}

function expectation(tenant: TenantId, byTenant: Map<TenantId, Map<number, Leaf>>): Expectation {
  const known = byTenant.get(tenant) ?? new Map<number, Leaf>()
  const numbers = [...known.keys()].sort((a, b) => a - b)
  const highest = numbers.at(-1) ?? 0
  const check = (row: LogRow): void => {
    const own = known.get(row.sequence)
    if (own === undefined) return
    // Of an event that was purged since, only the leaf can be compared.
    if (isPurged(row) ? leafOf(own) !== row.leafHash : own.contentHash !== row.contentHash)
      throw mismatch(tenant, `event ${row.sequence} is not the one that was written`)
  }
  return {
    check,
    checkSize: (size) => {
      if (highest > size) throw mismatch(tenant, `event ${highest} was written, the rows end at ${size}`)
    },
    checkUpTo: async (store, size) => {
      const [first = 1] = numbers
      const last = numbers.findLast((sequence) => sequence <= size) ?? 0
      for await (const rows of readLog(store, tenant, first - 1, last)) rows.forEach(check)
    },
    forgetUpTo: (size) => {
      for (const sequence of numbers) if (sequence <= size) known.delete(sequence)
      if (known.size === 0) byTenant.delete(tenant)
    },
  }
}
