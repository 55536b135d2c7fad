import { limits } from '../../base/limits.ts'
import { parseTime } from '../../base/time.ts'
import type { Subject } from '../../model/identity/subject.ts'
import { inScope } from '../../model/text.ts'
import { type Mandate, type MandateRevocation, mandate, mandateRevocation } from '../../model/wire/mandate.ts'
import { trustedKeys } from './rotation.ts'
import type { Pins, Refused, Verified } from './statement.ts'
import { readShape, refused, statementProblem, withinWindow } from './statement.ts'

export interface MandateOptions {
  /** The host's time in milliseconds. */
  readonly at: number
  /** The keys of registered principals: those of every mandate up the chain must be among them. */
  readonly pins: Pins
  /** The verified caller, if there is one. */
  readonly delegate?: string
  /** Revocation statements; those that do not verify under the mandate's own key revoke nothing. */
  readonly revocations?: readonly unknown[]
}

/** Verifies a mandate and every parent up to the root, and says who the caller now is. */
export function verifyMandate(
  input: unknown,
  options: MandateOptions,
): Verified<{ readonly mandate: Mandate; readonly subject: Subject }> {
  const read = readShape(mandate, input)
  if (!read.ok) return read
  const chain = chainOf(read.value)
  if (chain.length > limits.mandateDepthMax + 1) return refused('depth', 'the chain of mandates is too deep')
  for (const link of chain) {
    const problem = linkProblem(link, options)
    if (problem !== undefined) return problem
  }
  if (options.delegate !== undefined && options.delegate !== read.value.delegate_id)
    return refused('delegate', 'the mandate is for another delegate')
  return { ok: true, value: { mandate: read.value, subject: subjectOf(read.value, chain.at(-1) ?? read.value) } }
}

/** From the mandate shown up to its root, or one further than allowed: an object made to go round has no root. */
function chainOf(leaf: Mandate): Mandate[] {
  const chain = [leaf]
  for (let link = leaf.parent; link !== undefined && chain.length < limits.mandateDepthMax + 2; link = link.parent)
    chain.push(link)
  return chain
}

const depthOf = (link: Mandate): number => link.depth ?? 0

function linkProblem(link: Mandate, { pins, at, revocations = [] }: MandateOptions): Refused | undefined {
  const { principal, parent: _, ...statement } = link
  const problem = statementProblem(statement, principal, link.created_at)
  if (problem !== undefined) return problem
  if (!isTrusted(principal, pins)) return refused('pin', 'the key is not that of a registered principal')
  if (!withinWindow(at, link.valid_from, link.valid_until))
    return refused('window', 'the mandate is not valid at this time')
  if (revocations.some((revocation) => revokes(revocation, link)))
    return refused('revoked', `mandate \`${link.mandate_id}\` was revoked`)
  return narrowingProblem(link)
}

/** True if the key of a principal is pinned, or a pinned one has handed over to it. */
export const isTrusted = ({ public_key, key_history }: Mandate['principal'], pins: Pins): boolean =>
  pins === 'any' || trustedKeys([...pins], key_history).has(public_key)

/** A sub-mandate may narrow its parent and nothing else; a root has no parent, depth or parent id. */
function narrowingProblem(child: Mandate): Refused | undefined {
  const { parent } = child
  if (parent === undefined) {
    const bare = child.depth === undefined && child.parent_id === undefined
    return bare ? undefined : refused('chain', 'the parent of the mandate is missing')
  }
  if (child.parent_id !== parent.mandate_id) return refused('chain', 'the mandate names another parent')
  if (parent.delegate_id !== child.principal.host_id)
    return refused('chain', "the principal is not the parent's delegate")
  if (depthOf(child) !== depthOf(parent) + 1) return refused('depth', 'the depth does not follow the parent')
  if (!child.scope.every((entry) => scopeCovers(parent.scope, entry))) return refused('scope', 'the scope is wider')
  if (!windowInside(child, parent)) return refused('window', "the window is not inside the parent's")
  const raised = (child.max_invocations ?? Infinity) > (parent.max_invocations ?? Infinity)
  return raised ? refused('cap', 'the cap is higher than that of the parent') : undefined
}

const windowInside = (child: Mandate, { valid_from, valid_until }: Mandate): boolean =>
  [child.valid_from, child.valid_until].every((time) => withinWindow(parseTime(time), valid_from, valid_until))

/** True if one entry covers the id, or the whole of a narrower entry: exact, or a prefix before a final `*`. */
export const scopeCovers = (scope: readonly string[], entry: string): boolean =>
  scope.some((own) => inScope(own, entry))

const subjectOf = (leaf: Mandate, root: Mandate): Subject => ({
  id: leaf.delegate_id,
  type: 'mandate',
  verified: true,
  mandate_id: leaf.mandate_id,
  principal: leaf.principal.host_id,
  root_principal: root.principal.host_id,
})

/** Verifies a revocation by itself. Whether it revokes a given mandate depends on that mandate's key: `revokes`. */
export function verifyRevocation(input: unknown): Verified<MandateRevocation> {
  const read = readShape(mandateRevocation, input)
  if (!read.ok) return read
  const { principal, ...statement } = read.value
  return statementProblem(statement, principal, statement.revoked_at) ?? read
}

/** True if the statement is a good revocation of this mandate, signed with the mandate's own key. */
export function revokes(revocation: unknown, link: Mandate): boolean {
  // Those of other mandates are told apart before anything costly is done: there may be many.
  if ((revocation as Partial<MandateRevocation> | null)?.mandate_id !== link.mandate_id) return false
  const verified = verifyRevocation(revocation)
  return verified.ok && verified.value.principal.public_key === link.principal.public_key
}
