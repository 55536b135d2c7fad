import { limits } from '../base/limits.ts'
import type { Clock } from '../base/time.ts'
import type { Hindrance } from '../gateway/capability.ts'
import { CallEnded, Cancelled } from '../gateway/ended.ts'

/** Stops calling a server that keeps failing; after a while one call may test whether it is back. `name` is for people. */
export function openBreaker(name: string, clock: Clock) {
  let failures = 0
  // Since when the server is left alone, and whether a call is testing if it is back.
  let openedAt: number | undefined
  let probing = false
  const close = () => {
    failures = 0
    openedAt = undefined
  }
  const fail = () => {
    failures += 1
    if (probing || failures >= limits.breakerFailuresMax) openedAt = clock.now()
  }
  /** Milliseconds until a call may go. A clock that stepped back does not make the wait longer. */
  const waitMs = (): number => {
    if (openedAt === undefined) return 0
    const passed = clock.now() - openedAt
    const left = passed < 0 ? 0 : Math.max(0, limits.breakerOpenMs - passed)
    return left === 0 && probing ? 1_000 : left
  }
  /** Why no call may be sent now; undefined if one may. */
  const hindrance = (): Hindrance | undefined => {
    const wait = waitMs()
    if (wait === 0) return undefined
    const reason = `the server \`${name}\` failed ${failures} times in a row and is left alone for a while`
    return { lifecycle: 'unavailable', reason, retryAfterS: Math.ceil(wait / 1000) }
  }
  return {
    hindrance,
    /** Does the work, unless the server is left alone. An error counts if `isFault` blames the server; a cancelled call never. */
    run: async <T>(work: () => Promise<T>, isFault: (error: unknown) => boolean, signal: AbortSignal): Promise<T> => {
      const before = hindrance()
      if (before) throw new CallEnded('upstream_unavailable', before.reason, { effect: 'none' })
      probing = openedAt !== undefined
      try {
        const value = await work()
        close()
        return value
      } catch (error) {
        if (!(signal.reason instanceof Cancelled)) (isFault(error) ? fail : close)()
        throw error
      } finally {
        probing = false
      }
    },
  }
}
