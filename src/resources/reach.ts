import { covers } from '../grants/cover.ts'
import { faultOf } from '../grants/parse.ts'
import type { Reach } from './provider.ts'

/** The live grants of a resource, and how far up they may look: the roots of the tenant. */
export interface Held {
  readonly grants: readonly string[]
  readonly roots: readonly string[] | 'unbounded'
}

/** Whether a scope is a grant (`at`), lies below one (`down`), or is an ancestor of one within the same root (`up`). */
export function reaches({ grants, roots }: Held, directions: readonly Reach[], scope: string): boolean {
  if (faultOf(scope) !== undefined) return false
  return grants.some(
    (grant) =>
      (directions.includes('at') && grant === scope) ||
      (directions.includes('down') && grant !== scope && covers(grant, scope)) ||
      (directions.includes('up') && grant !== scope && covers(scope, grant) && isBelowRoot(roots, scope)),
  )
}

// A root that covers an ancestor of a grant covers the grant.
const isBelowRoot = (roots: Held['roots'], scope: string): boolean =>
  roots === 'unbounded' || roots.some((root) => covers(root, scope))

/** The scopes that can be named without knowing what is stored: the grants, and their ancestors. */
export function namedScopes(held: Held, directions: readonly Reach[]): readonly string[] {
  const around = held.grants.flatMap((grant) => {
    const segments = grant.split('/')
    return segments.map((_, index) => segments.slice(0, segments.length - index).join('/'))
  })
  return [...new Set(around)].filter((scope) => reaches(held, directions, scope))
}
