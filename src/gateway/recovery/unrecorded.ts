import type { Json } from '../../base/canonical.ts'
import type { Reservation } from '../../storage/tables/budget-uses.ts'
import type { Change } from '../../storage/work.ts'
import type { Effect } from '../ended.ts'

/** How a call ended of which the record may say that it runs. */
export interface Over {
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

/** Calls that are over in this process and whose end could not be written, by record key. */
export interface Unwritten {
  add(key: string, over: Over, now: number): void
  get(key: string): Over | undefined
  delete(key: string): void
  isEmpty(): boolean
  /** Forgets what is old, except for what is still open on record. */
  prune(open: ReadonlySet<string>, now: number): void
}

// A commit of which nobody knew may still land.
const keptMs = 3_600_000

export function openUnwritten(): Unwritten {
  const known = new Map<string, { readonly over: Over; readonly since: number }>()
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
