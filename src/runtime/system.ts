import { randomBytes } from 'node:crypto'
import { formatId, type Ids } from '../base/ids.ts'
import type { Clock } from '../base/time.ts'

export const systemClock: Clock = { now: () => Date.now() }

/** Ids from the clock and the system's randomness. Within a millisecond, or when the clock steps back, they count up. */
export function randomIds(clock: Clock): Ids {
  let last = 0
  const fresh = entropyPool()
  let entropy = fresh()
  return {
    next: (prefix) => {
      const now = clock.now()
      if (now > last) {
        last = now
        entropy = fresh()
      } else {
        countUp(entropy)
      }
      return formatId(prefix, last, entropy)
    },
  }
}

const poolBytes = 2_000

/** Ten random bytes at a time: asking the system for many at once costs as much as asking for few. */
function entropyPool(): () => Buffer<ArrayBuffer> {
  let pool = randomBytes(poolBytes)
  let used = 0
  return () => {
    if (used === poolBytes) {
      pool = randomBytes(poolBytes)
      used = 0
    }
    used += 10
    return pool.subarray(used - 10, used)
  }
}

function countUp(bytes: Buffer): void {
  for (let index = bytes.length - 1; index >= 0; index--) {
    bytes[index] = ((bytes[index] ?? 0) + 1) & 0xff
    if (bytes[index] !== 0) break
  }
}
