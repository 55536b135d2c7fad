import { randomBytes, randomInt } from 'node:crypto'
import { countMax, formatId, formatSortedId, type Ids, isSortedPrefix } from '../base/ids.ts'
import type { Clock } from '../base/time.ts'

export const systemClock: Clock = { now: () => Date.now() }

const entropyBytes = 10

/** Ids from the clock and the system's randomness. Within a millisecond, or when the clock steps back, they count up. */
export function randomIds(clock: Clock): Ids {
  let last = 0
  let entropy = randomBytes(entropyBytes)
  const sorted = countedTimes(clock)
  return {
    next: (prefix) => {
      if (isSortedPrefix(prefix)) return formatSortedId(prefix, ...sorted())
      const now = clock.now()
      if (now > last) {
        last = now
        entropy = randomBytes(entropyBytes)
      } else {
        countUp(entropy)
      }
      return formatId(prefix, last, entropy)
    },
  }
}

/** Times that no process makes twice. Counting begins at random, so that two rarely make the same. */
function countedTimes(clock: Clock): () => readonly [ms: number, count: number] {
  let ms = -1
  let count = 0
  return () => {
    const now = clock.now()
    if (now > ms) {
      ms = now
      count = randomInt(countMax >> 1)
    } else if (++count > countMax) {
      ms++
      count = 0
    }
    return [ms, count]
  }
}

function countUp(bytes: Buffer): void {
  for (let index = bytes.length - 1; index >= 0; index--) {
    bytes[index] = ((bytes[index] ?? 0) + 1) & 0xff
    if (bytes[index] !== 0) break
  }
}

/** A UUID of version 7: the time in milliseconds, then chance. */
export function uuidV7(nowMs: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
