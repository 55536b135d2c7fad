// A slow and obvious model of grants: paths are lists of segments, authority is a set of nodes, time is a number.

import fc from 'fast-check'
import { formatTime } from '../../src/base/time.ts'
import type { GrantRequest } from '../../src/grants/list.ts'
import type { Grant } from '../../src/model/grant.ts'

export const isAtOrBelow = (path: string, branch: string): boolean => {
  const segments = path.split('/')
  const above = branch.split('/')
  return above.length <= segments.length && above.every((segment, index) => segment === segments[index])
}

// Segments that begin alike, differ in case, hold what sorts before a slash, and need more than one byte.
const segments = ['a', 'ab', 'a-b', 'A', 'é', '𝒳']

/** Every path of a small world. */
export const world: readonly string[] = segments.flatMap((one) => [
  one,
  ...segments.flatMap((two) => [`${one}/${two}`, ...segments.map((three) => `${one}/${two}/${three}`)]),
])

/** The nodes of the small world that these grants reach. */
export const reachOf = (paths: readonly string[]): string[] =>
  world.filter((node) => paths.some((path) => isAtOrBelow(node, path)))

export const anyPath: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...segments.slice(0, 3)), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'))

export const farPath: fc.Arbitrary<string> = fc.constantFrom(...world)

/** The time of a tick, written and in milliseconds. */
export const msAt = (tick: number): number => Date.UTC(2026, 5, 16) + tick * 1_000
export const timeAt = (tick: number | null): string | null => (tick === null ? null : formatTime(msAt(tick)))

export const anyExpiry: fc.Arbitrary<string | null> = fc.option(fc.integer({ min: 1, max: 9 }), { freq: 3 }).map(timeAt)

export const anyRequests: fc.Arbitrary<readonly GrantRequest[]> = fc.uniqueArray(
  fc.record({ path: anyPath, expiresAt: anyExpiry }),
  { maxLength: 4, selector: ({ path }) => path },
)

/** Ids in the order they are asked for. */
export function makeIds(): (count: number) => string[] {
  let made = 0
  return (count) => Array.from({ length: count }, () => `gr_${++made}`)
}

export const grantAt = (path: string, more: Partial<Grant> = {}): Grant => ({
  path,
  id: `gr_${[...path].map((char) => (char.codePointAt(0) ?? 0).toString(16)).join('')}`,
  expires_at: null,
  minted_by: 'host',
  basis: ['subject:ada'],
  derived_from: [],
  ...more,
})

export const pathsOf = (grants: readonly { readonly path: string }[]): string[] => grants.map(({ path }) => path)

/** True if neither the value nor anything in it can be changed. */
export const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))
