import type { Json } from '../../base/canonical.ts'
import type { Reservation } from '../../storage/tables/budget-uses.ts'
import type { Change } from '../../storage/work.ts'
import type { Effect } from '../ended.ts'

/** How a call ended that may still be running on record. */
export interface KnownOutcome {
  readonly effect: Effect
  /** Whether its handler was ever called. */
  readonly began: boolean
  /** What it has taken of what was reserved for it, as far as that is known. */
  readonly settlement?: readonly Change[]
  /** What is given back should it turn out that nothing happened. */
  readonly reserved?: readonly Reservation[]
  /** What it answered, where that is known. */
  readonly data?: Json
}

/** Outcomes of this process that could not be written, by record key. */
export interface UnrecordedOutcomes {
  add(key: string, over: KnownOutcome, now: number): void
  get(key: string): KnownOutcome | undefined
  delete(key: string): void
  isEmpty(): boolean
  /** Drops old outcomes, except of calls that still run on record. */
  prune(open: ReadonlySet<string>, now: number): void
}

// A commit whose result is not known may still land.
const keptMs = 3_600_000

export function openUnrecorded(): UnrecordedOutcomes {
  const known = new Map<string, { readonly over: KnownOutcome; readonly since: number }>()
  return {
    add: (key, over, now) => void known.set(key, { over, since: now }),
    get: (key) => known.get(key)?.over,
    delete: (key) => void known.delete(key),
    isEmpty: () => known.size === 0,
    prune: (open, now) => {
      for (const [key, { since }] of known) if (since <= now - keptMs && !open.has(key)) known.delete(key)
    },
  }
}
