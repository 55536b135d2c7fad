import type { Grant } from '../model/grant.ts'

/** The grant as a copy that nobody can change any more. */
export const frozenGrant = (grant: Grant): Grant =>
  Object.freeze({ ...grant, basis: frozenCopy(grant.basis), derived_from: frozenCopy(grant.derived_from) })

function frozenCopy(texts: readonly string[]): string[] {
  const copy = [...texts]
  Object.freeze(copy)
  return copy
}
