import { formatTime, parseTime } from '../base/time.ts'
import type { Grant } from '../model/grant.ts'

/** When a grant ends, in the form we write times in, whose text order is time order. Null: with its run. */
export type Expiry = string | null

export function isExpiry(value: unknown): value is Expiry {
  if (value === null) return true
  const ms = typeof value === 'string' ? parseTime(value) : undefined
  return ms !== undefined && formatTime(ms) === value
}

/** True from the instant of expiry on. A time that cannot be read has passed. */
export const hasExpired = (expiry: Expiry, now: number): boolean =>
  expiry !== null && !((parseTime(expiry) ?? Number.NEGATIVE_INFINITY) > now)

export const earlier = (a: Expiry, b: Expiry): Expiry => (a === null || (b !== null && b < a) ? b : a)

export const later = (a: Expiry, b: Expiry): Expiry => (a === null || b === null ? null : a < b ? b : a)

/** A frozen copy of the grant. */
export const frozenGrant = ({ basis, derived_from, ...grant }: Grant): Grant =>
  Object.freeze({ ...grant, basis: frozenCopy(basis), derived_from: frozenCopy(derived_from) })

const frozenCopy = (texts: readonly string[]): string[] => Object.freeze([...texts]) as string[]
