import { limits } from '../../base/limits.ts'
import { leafOf } from '../../evidence/log.ts'
import type { Leaf, LogRow } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { leavesFrom } from '../../storage/tables/events.ts'
import { isPurged, withPurged } from '../../storage/tables/purge.ts'
import { mismatch } from './replay-log.ts'

/** The newest events this process wrote, until it knows a head over them: the store must still have them, unchanged. */
export interface Written {
  note(tenant: TenantId, events: readonly Leaf[]): void
  /** What the store must hold from now on. To be taken before the rows are read. */
  expect(tenant: TenantId): Expectation
}

export interface Expectation {
  /** Fails with `head.mismatch` when the store ends before what was written. */
  checkSize(size: number): void
  /** Fails with `head.mismatch` when a row is not the one that was written. */
  check(row: LogRow): void
  /** Reads and checks all that was written up to a number. */
  checkUpTo(store: Store, size: number): Promise<void>
  /** Lets go of what a head covers. */
  forgetUpTo(size: number): void
}

const leavesPerRead = 1_000

export function openWritten(): Written {
  const byTenant = new Map<TenantId, Map<number, Leaf>>()
  return {
    note: (tenant, events) => {
      const known = byTenant.get(tenant) ?? new Map<number, Leaf>()
      byTenant.set(tenant, known)
      for (const { sequence, correlationId, contentHash } of events)
        known.set(sequence, { sequence, correlationId, contentHash })
      // A map from which much was removed is slow to begin going through.
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
  const numbers = [...known.keys()]
  const highest = numbers.reduce((most, sequence) => Math.max(most, sequence), 0)
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
      const covered = numbers.filter((sequence) => sequence <= size)
      const last = covered.reduce((most, sequence) => Math.max(most, sequence), 0)
      for (let at = covered.reduce((least, sequence) => Math.min(least, sequence), last) - 1; at < last; ) {
        const rows = await store.read(() => withPurged(leavesFrom, tenant, at, Math.min(leavesPerRead, last - at)))
        if (rows.length === 0) throw mismatch(tenant, `event ${at + 1} is missing`)
        rows.forEach(check)
        at = rows.at(-1)?.sequence ?? last
      }
    },
    forgetUpTo: (size) => {
      for (const sequence of numbers) if (sequence <= size) known.delete(sequence)
      if (known.size === 0) byTenant.delete(tenant)
    },
  }
}
