import { openPlaces } from '../base/places.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'

/** The place of one request among those being answered. */
export interface Place {
  /** Says whose request it is. False if this caller has as many as one may have. */
  assign(tenant: TenantId, name: string): boolean
  /** The request counts until this work has ended, though it may be answered before. */
  holdFor(work: Promise<unknown>): void
  /** The request has been answered. `ended` is called when it counts no longer. */
  leave(ended?: () => void): void
}

/** Limits how many requests are answered at the same time, in all and for one caller. */
export interface ConcurrencyLimit {
  /** The requests of one tenant that are being answered. */
  size(tenant: TenantId): number
  /** Undefined if every place is taken. */
  enter(): Place | undefined
}

/** What one caller may take of all places: where there are several, the others are never without any. */
const share = 3 / 4

export function openConcurrencyLimit(atOnceMax: number): ConcurrencyLimit {
  const places = openPlaces(Math.max(1, Math.floor(atOnceMax * share)))
  const sizes = new Map<TenantId, number>()
  let size = 0
  const count = (tenant: TenantId, by: 1 | -1): void => {
    const next = (sizes.get(tenant) ?? 0) + by
    if (next > 0) sizes.set(tenant, next)
    else sizes.delete(tenant)
  }
  return {
    size: (tenant) => sizes.get(tenant) ?? 0,
    enter: () => {
      if (size >= atOnceMax) return undefined
      size++
      const works: Promise<unknown>[] = []
      let release = (): void => undefined
      return {
        assign: (tenant, name) => {
          const key = callerKey(tenant, name)
          if (!places.take(key)) return false
          count(tenant, 1)
          release = () => {
            places.leave(key)
            count(tenant, -1)
          }
          return true
        },
        holdFor: (work) => void works.push(work),
        leave: (ended) => {
          const left = (): void => {
            size--
            release()
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
