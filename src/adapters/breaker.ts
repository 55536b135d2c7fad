import { limits } from '../base/limits.ts'
import type { Clock } from '../base/time.ts'
import type { Hindrance } from '../gateway/capability.ts'
import { CallEnded, Cancelled } from '../gateway/ended.ts'

/** Stops calling a server that keeps failing; after a while one call may test whether it is back. */
export interface Breaker {
  /** Why no call may be sent now; undefined if one may. */
  hindrance(): Hindrance | undefined
  /**
   * Does the work, unless the server is left alone. An error counts if `isFault` blames the server for it. A cancelled
   * call does not count, however it ended.
   */
  run<T>(work: () => Promise<T>, isFault: (error: unknown) => boolean, signal: AbortSignal): Promise<T>
}

/** `name` is what people call the server. */
export function openBreaker(name: string, clock: Clock): Breaker {
  let state = closed
  const hindrance = (): Hindrance | undefined => {
    const wait = waitMs(state, clock.now())
    if (wait === 0) return undefined
    const reason = `the server \`${name}\` failed ${state.failures} times in a row and is left alone for a while`
    return { lifecycle: 'unavailable', reason, retryAfterS: Math.ceil(wait / 1000) }
  }
  return {
    hindrance,
    run: async (work, isFault, signal) => {
      const before = hindrance()
      if (before) throw new CallEnded('upstream_unavailable', before.reason, { effect: 'none' })
      state = started(state)
      try {
        const value = await work()
        state = closed
        return value
      } catch (error) {
        if (signal.reason instanceof Cancelled) state = { ...state, probing: false }
        else state = isFault(error) ? failed(state, clock.now()) : closed
        throw error
      }
    },
  }
}

/** Failures in a row, since when the server is left alone, and whether one call is now testing if it is back. */
export interface BreakerState {
  readonly failures: number
  readonly openedAt: number | undefined
  readonly probing: boolean
}

export const closed: BreakerState = { failures: 0, openedAt: undefined, probing: false }

/** A call begins. While the server is left alone, this call tests whether it is back. */
export const started = (state: BreakerState): BreakerState =>
  state.openedAt === undefined ? state : { ...state, probing: true }

export function failed(state: BreakerState, now: number): BreakerState {
  const failures = state.failures + 1
  const opens = state.probing || failures >= limits.breakerFailuresMax
  return { failures, openedAt: opens ? now : state.openedAt, probing: false }
}

/** Milliseconds until a call may go, 0 if it may now. A clock that stepped back does not make the wait longer. */
export function waitMs({ openedAt, probing }: BreakerState, now: number): number {
  if (openedAt === undefined) return 0
  const passed = now - openedAt
  const left = passed < 0 ? 0 : Math.max(0, limits.breakerOpenMs - passed)
  return left === 0 && probing ? 1_000 : left
}
