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
  readonly data?: Json
}

export const notStarted: KnownOutcome = { effect: 'none', began: false }

// A commit whose result is not known may still land.
const keptMs = 3_600_000

export type UnrecordedOutcomes = ReturnType<typeof openUnrecorded>

/** Outcomes of this process that could not be written, by record key. */
export function openUnrecorded() {
  const outcomes = new Map<string, { readonly known: KnownOutcome; readonly since: number }>()
  return {
    add: (key: string, known: KnownOutcome, now: number) => void outcomes.set(key, { known, since: now }),
    get: (key: string) => outcomes.get(key)?.known,
    delete: (key: string) => void outcomes.delete(key),
    isEmpty: () => outcomes.size === 0,
    /** Drops old outcomes, except of calls that still run on record. */
    prune: (open: ReadonlySet<string>, now: number) => {
      for (const [key, { since }] of outcomes) if (since <= now - keptMs && !open.has(key)) outcomes.delete(key)
    },
  }
}
