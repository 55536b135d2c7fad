import assert from 'node:assert/strict'
import { Failure, quote } from '../base/failure.ts'
import type { Grant } from '../model/grant.ts'
import { covers } from './cover.ts'
import { earlier, later } from './expiry.ts'
import { frozenGrant } from './grant.ts'
import type { GrantRequest } from './list.ts'

export interface NarrowFacts {
  /** The trusted code that asks. */
  readonly mintedBy: string
  /** A new id for each grant of the child: of the request or, without one, of the parent. */
  readonly ids: readonly string[]
}

/**
 * The grants of a child run, from those of its parent that live. Without a request it inherits them all; an empty
 * request is none. One path that no grant of the parent covers refuses the whole request, and the refusal says nothing
 * of what the parent holds. A grant ends when the request says so, or with the last that covers it.
 */
export function narrow(
  parentLive: readonly Grant[],
  request: readonly GrantRequest[] | undefined,
  facts: NarrowFacts,
): readonly Grant[] {
  const wanted = request ?? parentLive.map(({ path, expires_at }) => ({ path, expiresAt: expires_at }))
  assert(facts.ids.length === wanted.length, 'every grant has an id of its own')
  return Object.freeze(wanted.map((one, index) => derive(one, parentLive, facts.mintedBy, facts.ids[index] ?? '')))
}

function derive({ path, expiresAt }: GrantRequest, parentLive: readonly Grant[], mintedBy: string, id: string): Grant {
  const covering = parentLive.filter((grant) => covers(grant.path, path))
  if (covering.length === 0) {
    throw new Failure('grant.outside_parent', `grant ${quote(path)} is not within the parent's grants`, { path })
  }
  return frozenGrant({
    path,
    id,
    expires_at: earlier(expiresAt, covering.map(({ expires_at }) => expires_at).reduce(later)),
    minted_by: mintedBy,
    basis: covering.map(({ basis }) => basis).reduce(union),
    derived_from: covering.map((grant) => grant.id),
  })
}

const union = (some: string[], others: string[]): string[] => [...new Set([...some, ...others])]
