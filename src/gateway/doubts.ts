import { limits } from '../base/limits.ts'
import type { Interrupted } from './journal.ts'

export interface Doubt {
  readonly call: Interrupted
  /** How often its capability was asked already. */
  readonly asked: number
}

/** Calls of which their capability did not know what had come of them: it is asked again, ever more rarely, then no more. */
export interface Doubts {
  add(doubt: Doubt, now: number): void
  /** Takes out those whose time has come. */
  due(now: number): readonly Doubt[]
}

const firstPauseMs = 10_000
const factor = 4

export function openDoubts(): Doubts {
  const waiting = new Map<Doubt, number>()
  return {
    add: (doubt, now) => {
      if (doubt.asked >= limits.reconcileAsksMax) return
      // The oldest gives way: it was asked before, and its record says that nobody knows.
      if (waiting.size >= limits.doubtsMax) for (const oldest of waiting.keys()) if (waiting.delete(oldest)) break
      waiting.set(doubt, now + firstPauseMs * factor ** (doubt.asked - 1))
    },
    due: (now) => {
      const found = [...waiting].filter(([, at]) => at <= now).map(([doubt]) => doubt)
      for (const doubt of found) waiting.delete(doubt)
      return found
    },
  }
}
