import { limits } from '../base/limits.ts'
import type { Interrupted } from './journal.ts'

export interface Doubt {
  readonly call: Interrupted
  /** How often its capability was asked already. */
  readonly asked: number
}

/** Calls of which nobody knows what came of them: their capability is asked, at once, then ever more rarely, then no more. */
export interface Doubts {
  add(doubt: Doubt, now: number): void
  /** Takes out at most so many whose time has come. */
  due(now: number, max: number): readonly Doubt[]
}

const firstPauseMs = 10_000
const factor = 4

export function openDoubts(): Doubts {
  const waiting = new Map<Doubt, number>()
  return {
    add: (doubt, now) => {
      if (doubt.asked >= limits.reconcileAsksMax) return
      // The one that was asked most often gives way: its record says that nobody knows.
      if (waiting.size >= limits.doubtsMax) {
        const most = waiting.keys().reduce((one, other) => (other.asked > one.asked ? other : one))
        if (most.asked <= doubt.asked) return
        waiting.delete(most)
      }
      waiting.set(doubt, doubt.asked === 0 ? now : now + firstPauseMs * factor ** (doubt.asked - 1))
    },
    due: (now, max) => {
      const found = [
        ...waiting
          .entries()
          .filter(([, at]) => at <= now)
          .take(max),
      ].map(([doubt]) => doubt)
      for (const doubt of found) waiting.delete(doubt)
      return found
    },
  }
}
