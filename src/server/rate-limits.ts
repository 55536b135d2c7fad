import type { Clock } from '../base/time.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'

/** Says of each request whether its caller may still ask: so many a second on the long run, as many at once. */
export function rateLimit(clock: Clock, perSecond: number, callersMax: number): (caller: string) => boolean {
  const buckets = new Map<string, { left: number; at: number }>()
  return (caller) => {
    const now = clock.now()
    const bucket = buckets.get(caller) ?? { left: perSecond, at: now }
    const gained = (Math.max(0, now - bucket.at) * perSecond) / 1000
    const left = Math.min(perSecond, bucket.left + gained)
    // Drops the bucket unused for longest: it was full again long ago, or its caller gains a few requests.
    buckets.delete(caller)
    if (buckets.size >= callersMax) for (const oldest of buckets.keys()) if (buckets.delete(oldest)) break
    buckets.set(caller, { left: left >= 1 ? left - 1 : left, at: now })
    return left >= 1
  }
}

export type ConcurrencyLimit = ReturnType<typeof openConcurrencyLimit>
/** The place of one request among those being answered. */
export type Place = NonNullable<ReturnType<ConcurrencyLimit['enter']>>

/** What one caller may take of all places: where there are several, the others are never without any. */
const share = 3 / 4

/** Limits how many requests are answered at the same time, in all and for one caller. */
export function openConcurrencyLimit(atOnceMax: number) {
  const perCallerMax = Math.max(1, Math.floor(atOnceMax * share))
  // Of all requests, of each tenant and of each caller. One without requests is forgotten.
  const sizes = new Map<string, number>()
  const sizeOf = (key: string): number => sizes.get(key) ?? 0
  const count = (key: string, by: 1 | -1): void => {
    const size = sizeOf(key) + by
    if (size > 0) sizes.set(key, size)
    else sizes.delete(key)
  }
  return {
    /** The requests of one tenant that are being answered. */
    size: (tenant: TenantId): number => sizeOf(tenant),
    /** Undefined if every place is taken. */
    enter: () => {
      if (sizeOf('all:') >= atOnceMax) return undefined
      const keys = ['all:']
      const works: Promise<unknown>[] = []
      count('all:', 1)
      return {
        /** Says whose request it is. False if this caller has as many as one may have. */
        assign: (tenant: TenantId, name: string): boolean => {
          const caller = callerKey(tenant, name)
          if (sizeOf(caller) >= perCallerMax) return false
          for (const key of [tenant, caller]) {
            keys.push(key)
            count(key, 1)
          }
          return true
        },
        /** The request counts until this work has ended, though it may be answered before. */
        holdFor: (work: Promise<unknown>): void => void works.push(work),
        /** The request has been answered. `ended` is called when it counts no longer. */
        leave: (ended?: () => void): void => {
          const left = (): void => {
            for (const key of keys) count(key, -1)
            ended?.()
          }
          if (works.length === 0) left()
          else void Promise.allSettled(works).then(left)
        },
      }
    },
  }
}

/** Names one caller of one tenant. Length-prefixed: joined names let `a` + `bc` and `ab` + `c` be one caller. */
export const callerKey = (tenant: TenantId, name: string): string => `${tenant.length}:${tenant}${name}`
