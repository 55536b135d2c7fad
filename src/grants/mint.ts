import assert from 'node:assert/strict'
import { Failure, quote } from '../base/failure.ts'
import type { Grant } from '../model/grant.ts'
import { covers } from './cover.ts'
import { earlier, frozenGrant, later } from './grant.ts'
import type { GrantRequest } from './list.ts'

/** No grant may lie at or above this path, and one below it must be this many segments below. */
export interface ProtectedBranch {
  readonly path: string
  /** At least 1, which is what protection means. */
  readonly segmentsBelowMin: number
}

export interface NarrowFacts {
  /** The trusted code that asks. */
  readonly mintedBy: string
  /** A new id for each grant. */
  readonly ids: readonly string[]
}

export interface MintFacts extends NarrowFacts {
  /** The roots of the authenticated tenant. `unbounded` is for the tenant of the own process alone. */
  readonly roots: readonly string[] | 'unbounded'
  readonly protectedBranches: readonly ProtectedBranch[]
  /** References to the authenticated facts behind these grants. */
  readonly basis: readonly string[]
}

/** The grants of a root run. The first request that is not within the tenant's roots, or too broad, refuses all. */
export function mintGrants(requests: readonly GrantRequest[], facts: MintFacts): readonly Grant[] {
  const { roots, protectedBranches, basis } = facts
  for (const { path } of requests) {
    demandRoot(path, roots)
    if (protectedBranches.some((branch) => isTooBroad(path, branch)))
      throw new Failure('grant.protected', `grant ${quote(path)} is too broad for a protected branch`, { path })
  }
  return grantEach(requests, facts, ({ expiresAt }) => ({
    expires_at: expiresAt,
    basis: [...basis],
    derived_from: [],
  }))
}

/** Refuses a path that lies at or below no root of the tenant. */
export function demandRoot(path: string, roots: MintFacts['roots']): void {
  if (roots === 'unbounded' || roots.some((root) => covers(root, path))) return
  throw roots.length === 0
    ? new Failure(
        'grant.no_root',
        'this tenant has no namespace root',
        {},
        'an administrator gives it one: `ambit tenant add-root`',
      )
    : new Failure('grant.outside_root', `grant ${quote(path)} is outside this tenant`, { path }, outside)
}

const outside = 'grants lie at or below the roots of the tenant: `ambit tenant list` shows them'

const isTooBroad = (path: string, branch: ProtectedBranch): boolean =>
  covers(path, branch.path) ||
  (covers(branch.path, path) && depthOf(path) - depthOf(branch.path) < branch.segmentsBelowMin)

const depthOf = (path: string): number => path.split('/').length

/**
 * The grants of a child run; without a request all live ones of its parent. One path that none of these covers refuses
 * all, without a word of what the parent holds. A grant ends when the request says so, or with the last that covers it.
 */
export function narrow(
  parentLive: readonly Grant[],
  request: readonly GrantRequest[] | undefined,
  facts: NarrowFacts,
): readonly Grant[] {
  const wanted = request ?? parentLive.map(({ path, expires_at }) => ({ path, expiresAt: expires_at }))
  return grantEach(wanted, facts, ({ path, expiresAt }) => {
    const covering = parentLive.filter((grant) => covers(grant.path, path))
    if (covering.length === 0)
      throw new Failure('grant.outside_parent', `grant ${quote(path)} is not within the parent's grants`, { path })
    return {
      expires_at: earlier(expiresAt, covering.map(({ expires_at }) => expires_at).reduce(later)),
      basis: [...new Set(covering.flatMap(({ basis }) => basis))],
      derived_from: covering.map(({ id }) => id),
    }
  })
}

function grantEach(
  requests: readonly GrantRequest[],
  { ids, mintedBy }: NarrowFacts,
  rest: (request: GrantRequest) => Omit<Grant, 'path' | 'id' | 'minted_by'>,
): readonly Grant[] {
  assert(ids.length === requests.length, 'every grant has an id of its own')
  return Object.freeze(
    requests.map((request, index) =>
      frozenGrant({ path: request.path, id: ids[index] ?? '', minted_by: mintedBy, ...rest(request) }),
    ),
  )
}
