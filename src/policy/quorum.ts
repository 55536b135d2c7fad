import { parseTime } from '../base/time.ts'
import type { ApprovalRequest, Approver, Demand } from '../model/approval.ts'
import type { Actor, Subject } from '../model/identity/subject.ts'
import type { ApprovalTerms } from '../model/policy.ts'

/** Why a vote does not count. */
export type Ineligible = 'unknown' | 'revoked' | 'window' | 'role' | 'self'

/** What a vote is held against: the request, who asked for it in whatever way, and the time. */
export interface Ballot {
  readonly required: ApprovalRequest['required']
  /** Everybody the call is made by or for. */
  readonly excluded: readonly string[]
  readonly now: number
}

/** Undefined if this approver may decide; otherwise why not. No approver decides about their own call. */
export function ineligible(
  approver: Approver | undefined,
  { required, excluded, now }: Ballot,
): Ineligible | undefined {
  if (approver === undefined) return 'unknown'
  if (excluded.includes(approver.principal) || excluded.includes(approver.approver_id)) return 'self'
  if (approver.revoked_at !== null) return 'revoked'
  if (!(now >= (parseTime(approver.valid_from) ?? Number.NaN))) return 'window'
  if (approver.valid_until !== null && !(now <= (parseTime(approver.valid_until) ?? Number.NaN))) return 'window'
  return demandsOf(required).some((demand) => isNamed(approver, demand)) ? undefined : 'role'
}

export const demandsOf = (required: ApprovalRequest['required']): readonly Demand[] => [
  required,
  ...(required.also ?? []),
]

function isNamed({ approver_id, principal, roles }: Named, required: Demand): boolean {
  const isOpen = required.roles.length === 0 && required.approvers.length === 0
  const isApprover = [approver_id, principal].some((id) => required.approvers.includes(id))
  return isOpen || isApprover || roles.some((role) => required.roles.includes(role))
}

/** Everyone behind a call: its subject, the actor, the owner of the actor, and the lenders of the authority. */
export const partiesOf = (subject: Subject, actor: Actor | null): string[] =>
  [subject.id, subject.principal, subject.root_principal, actor?.id, actor?.owner].filter((id) => id !== undefined)

type Named = Pick<Approver, 'approver_id' | 'principal' | 'roles'>

export interface CastVote {
  readonly approver: Named
  readonly decision: 'approve' | 'deny'
}

/** One no ends it; a quorum of different people for every demand is a yes. People count, not keys. */
export function tally(
  votes: readonly CastVote[],
  required: ApprovalRequest['required'],
): 'approved' | 'denied' | 'pending' {
  if (votes.some(({ decision }) => decision === 'deny')) return 'denied'
  const isMet = (demand: Demand): boolean => {
    const counted = votes.filter(({ approver }) => isNamed(approver, demand))
    return new Set(counted.map(({ approver }) => approver.principal)).size >= demand.quorum
  }
  return demandsOf(required).every(isMet) ? 'approved' : 'pending'
}

/** Terms without which a request is not complete: one vote within fifteen minutes. */
export const defaultTerms = { quorum: 1, expires_in_s: 900 } as const

export function requiredOf(terms: readonly ApprovalTerms[]): ApprovalRequest['required'] {
  const [first = demandOf({}), ...also] = terms.map(demandOf)
  return also.length === 0 ? first : { ...first, also }
}

export const demandOf = ({ roles = [], approvers = [], quorum = defaultTerms.quorum }: ApprovalTerms): Demand => ({
  roles,
  approvers,
  quorum,
})

/** How long people may take: the shortest time that any terms leave. */
export const secondsOpen = ([first = {}, ...more]: readonly ApprovalTerms[]): number =>
  Math.min(...[first, ...more].map(({ expires_in_s = defaultTerms.expires_in_s }) => expires_in_s))

/** What a grant has to name: the call, unless all terms are content with what the protocol demands. */
export const bindOf = (terms: readonly ApprovalTerms[]): 'call' | 'protocol' =>
  terms.length > 0 && terms.every(({ bind }) => bind === 'protocol') ? 'protocol' : 'call'
