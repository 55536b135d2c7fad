import type { Clock } from '../base/time.ts'

/** Says of each request whether its caller may still ask: so many a second on the long run, as many at once. */
export function rateLimit(clock: Clock, perSecond: number, callersMax: number): (caller: string) => boolean {
  const buckets = new Map<string, { left: number; at: number }>()
  return (caller) => {
    const now = clock.now()
    const bucket = buckets.get(caller) ?? { left: perSecond, at: now }
    const gained = (Math.max(0, now - bucket.at) * perSecond) / 1000
    const left = Math.min(perSecond, bucket.left + gained)
    // Those who come last stay: what is forgotten first was full again long ago, or will be wronged by nobody.
    buckets.delete(caller)
    if (buckets.size >= callersMax) for (const oldest of buckets.keys()) if (buckets.delete(oldest)) break
    buckets.set(caller, { left: left >= 1 ? left - 1 : left, at: now })
    return left >= 1
  }
}
