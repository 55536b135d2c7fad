import { formatSortedId, type IdPrefix, type Ids, isSortedPrefix } from '../base/ids.ts'
import type { Clock } from '../base/time.ts'

export interface FakeClock extends Clock {
  /** Moves the time on, or back with a negative number. */
  advance(ms: number): void
}

/** A clock that stands still until it is moved. */
export function fakeClock(startMs = 0): FakeClock {
  let now = startMs
  return {
    now: () => now,
    advance: (ms) => {
      now += ms
    },
  }
}

/** Ids that count: `evt_0000000001`, `evt_0000000002`, each prefix by itself. */
export function countingIds(): Ids {
  const last = new Map<IdPrefix, number>()
  return {
    next: (prefix) => {
      const count = (last.get(prefix) ?? 0) + 1
      last.set(prefix, count)
      return isSortedPrefix(prefix) ? formatSortedId(prefix, 0, count) : `${prefix}_${String(count).padStart(10, '0')}`
    },
  }
}
