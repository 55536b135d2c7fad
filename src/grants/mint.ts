import assert from 'node:assert/strict'
import { Failure, quote } from '../base/failure.ts'
import type { Grant } from '../model/grant.ts'
import { covers } from './cover.ts'
import { frozenGrant } from './grant.ts'
import type { GrantRequest } from './list.ts'

/** No grant may lie at or above this path, and one below it must be this many segments below. */
export interface ProtectedBranch {
  readonly path: string
  /** At least 1, which is what protection means. */
  readonly segmentsBelowMin: number
}

export interface MintFacts {
  /** The roots of the authenticated tenant. `unbounded` is for the tenant of the own process alone. */
  readonly roots: readonly string[] | 'unbounded'
  readonly protectedBranches: readonly ProtectedBranch[]
  readonly mintedBy: string
  /** References to the authenticated facts behind these grants. */
  readonly basis: readonly string[]
  /** A new id for each request. */
  readonly ids: readonly string[]
}

/** The grants of a root run. The first request that is not within the tenant's roots, or too broad, refuses all. */
export function mintGrants(requests: readonly GrantRequest[], facts: MintFacts): readonly Grant[] {
  assert(facts.ids.length === requests.length, 'every grant has an id of its own')
  for (const { path } of requests) {
    demandRoot(path, facts.roots)
    demandDepth(path, facts.protectedBranches)
  }
  return Object.freeze(requests.map((request, index) => mint(request, facts.ids[index] ?? '', facts)))
}

const mint = ({ path, expiresAt }: GrantRequest, id: string, { mintedBy, basis }: MintFacts): Grant =>
  frozenGrant({ path, id, expires_at: expiresAt, minted_by: mintedBy, basis: [...basis], derived_from: [] })

function demandRoot(path: string, roots: MintFacts['roots']): void {
  if (roots === 'unbounded' || roots.some((root) => covers(root, path))) return
  if (roots.length === 0) throw new Failure('grant.no_root', 'this tenant has no namespace root')
  throw new Failure('grant.outside_root', `grant ${quote(path)} is outside this tenant`, { path })
}

function demandDepth(path: string, branches: readonly ProtectedBranch[]): void {
  if (!branches.some((branch) => isTooBroad(path, branch))) return
  throw new Failure('grant.protected', `grant ${quote(path)} is too broad for a protected branch`, { path })
}

const isTooBroad = (path: string, branch: ProtectedBranch): boolean =>
  covers(path, branch.path) ||
  (covers(branch.path, path) && depthOf(path) - depthOf(branch.path) < branch.segmentsBelowMin)

const depthOf = (path: string): number => path.split('/').length
