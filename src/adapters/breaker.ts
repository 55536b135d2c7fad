import { limits } from '../base/limits.ts'
import type { Clock } from '../base/time.ts'
import type { Hindrance } from '../gateway/capability.ts'
import { CallEnded, Cancelled } from '../gateway/ended.ts'

/** Leaves a server alone that keeps failing, and after a while lets one call find out whether it is back. */
export interface Breaker {
  /** What stands in the way of a call now. */
  hindrance(): Hindrance | undefined
  /**
   * Does the work, unless the server is left alone. What it throws counts if `isFault` says that the server is at
   * fault. A call that was taken back says nothing about the server, however it ended.
   */
  run<T>(work: () => Promise<T>, isFault: (error: unknown) => boolean, signal: AbortSignal): Promise<T>
}

/** `name` is what people call the server. */
export function openBreaker(name: string, clock: Clock): Breaker {
  let state = closed
  const hindrance = () => hindranceOf(state, name, clock.now())
  return {
    hindrance,
    run: async (work, isFault, signal) => {
      const before = hindrance()
      if (before) throw new CallEnded('upstream_unavailable', before.reason, { effect: 'none' })
      state = started(state)
      try {
        const value = await work()
        state = answered()
        return value
      } catch (error) {
        if (signal.reason instanceof Cancelled) state = leftOpen(state)
        else state = isFault(error) ? failed(state, clock.now()) : answered()
        throw error
      }
    },
  }
}

/** How often it failed in a row; when it was left alone, if it is; whether one call is finding out if it is back. */
export interface BreakerState {
  readonly failures: number
  readonly openedAt: number | undefined
  readonly probing: boolean
}

export const closed: BreakerState = { failures: 0, openedAt: undefined, probing: false }

/** A call begins. While the server is left alone that is the one that finds out. */
export const started = (state: BreakerState): BreakerState =>
  state.openedAt === undefined ? state : { ...state, probing: true }

const answered = (): BreakerState => closed

/** Nothing was found out. */
const leftOpen = (state: BreakerState): BreakerState => ({ ...state, probing: false })

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

function hindranceOf(state: BreakerState, name: string, now: number): Hindrance | undefined {
  const wait = waitMs(state, now)
  if (wait === 0) return undefined
  const reason = `the server \`${name}\` failed ${state.failures} times in a row and is left alone for a while`
  return { lifecycle: 'unavailable', reason, retryAfterS: Math.ceil(wait / 1000) }
}
