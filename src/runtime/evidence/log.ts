import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { appendLeaf, leafOf, logSize } from '../../evidence/log.ts'
import type { Leaf, LogRow } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { leavesFrom } from '../../storage/tables/events.ts'
import { withPurged } from '../../storage/tables/purge.ts'

/** Grows the log as it once was over the rows in the store, up to a size. Missing rows fail with `head.mismatch`. */
export async function replayLog(
  store: Store,
  tenant: TenantId,
  from: string,
  size: number,
  visit: (row: LogRow, log: string) => void = () => undefined,
): Promise<string> {
  const start = logSize(from)
  if (size < start) throw mismatch(tenant, `the store ends at event ${size}, a head was signed at ${start}`)
  let log = from
  for await (const row of readLog(store, tenant, start, size)) {
    log = appendLeaf(log, leafOf(row))
    visit(row, log)
  }
  return log
}

const leavesPerRead = 1_000

/** The rows of the log after an event, read piece by piece: a row that is purged meanwhile leaves its leaf. */
async function* readLog(store: Store, tenant: TenantId, after: number, size: number): AsyncGenerator<LogRow> {
  for (let at = after; at < size; ) {
    const rows = await store.read(() => withPurged(leavesFrom, tenant, at, Math.min(leavesPerRead, size - at)))
    if (rows[0]?.sequence !== at + 1) throw mismatch(tenant, `event ${at + 1} of ${size} is missing`)
    for (const row of rows) {
      if (row.sequence !== ++at) throw mismatch(tenant, `event ${at} of ${size} is missing`)
      yield row
    }
  }
}

export function mismatch(tenant: string, why: string): Failure {
  const help = `restore the newest backup; after a deliberate restore of an older one run \`ambit store accept-loss ${tenant}\``
  const message = `the records of tenant ${quote(tenant)} were cut or rewritten: ${why}`
  return new Failure('head.mismatch', message, { tenant }, help)
}

/** The newest events that this process wrote, until a head covers them: the store must still hold them, unchanged. */
export function openUnsignedEvents() {
  const byTenant = new Map<TenantId, Map<number, Leaf>>()
  return {
    note: (tenant: TenantId, events: readonly Leaf[]): void => {
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
    /** What the store must hold from now on. To be called before the rows are read. */
    expect: (tenant: TenantId) => expectation(tenant, byTenant),
  }
}

/** Its checks fail with `head.mismatch`. */
function expectation(tenant: TenantId, byTenant: Map<TenantId, Map<number, Leaf>>) {
  const known = byTenant.get(tenant) ?? new Map<number, Leaf>()
  const numbers = [...known.keys()].sort((a, b) => a - b)
  const highest = numbers.at(-1) ?? 0
  const check = (row: LogRow): void => {
    const own = known.get(row.sequence)
    if (own !== undefined && leafOf(own) !== leafOf(row))
      throw mismatch(tenant, `event ${row.sequence} is not the one that was written`)
  }
  return {
    check,
    checkSize: (size: number): void => {
      if (highest > size) throw mismatch(tenant, `event ${highest} was written, the rows end at ${size}`)
    },
    /** Reads and checks all events written up to a number. */
    checkUpTo: async (store: Store, size: number): Promise<void> => {
      const [first = 1] = numbers
      const last = numbers.findLast((sequence) => sequence <= size) ?? 0
      for await (const row of readLog(store, tenant, first - 1, last)) check(row)
    },
    /** Forgets the events that a head covers. */
    forgetUpTo: (size: number): void => {
      for (const sequence of numbers) if (sequence <= size) known.delete(sequence)
      if (known.size === 0) byTenant.delete(tenant)
    },
  }
}
