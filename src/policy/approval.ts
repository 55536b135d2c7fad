import { parseTime } from '../base/time.ts'
import type { ApprovalRequest, Approver } from '../model/approval.ts'
import type { Actor, Subject } from '../model/subject.ts'

/** Why somebody's vote does not count. */
export type Ineligible = 'unknown' | 'revoked' | 'window' | 'role' | 'self'

/** What a vote is held against: the request, who asked for it in whatever way, and the time. */
export interface Ballot {
  readonly required: ApprovalRequest['required']
  /** Everybody the call is made by or for. */
  readonly excluded: readonly string[]
  readonly now: number
}

/** Undefined if this approver may decide; otherwise why not. Nobody decides about a call that is theirs. */
export function ineligible(
  approver: Approver | undefined,
  { required, excluded, now }: Ballot,
): Ineligible | undefined {
  if (approver === undefined) return 'unknown'
  if (excluded.includes(approver.principal) || excluded.includes(approver.approver_id)) return 'self'
  if (approver.revoked_at !== null) return 'revoked'
  if (!(now >= (parseTime(approver.valid_from) ?? Number.NaN))) return 'window'
  if (approver.valid_until !== null && !(now <= (parseTime(approver.valid_until) ?? Number.NaN))) return 'window'
  return isNamed(approver, required) ? undefined : 'role'
}

function isNamed({ approver_id, principal, roles }: Approver, required: ApprovalRequest['required']): boolean {
  if (required.roles.length === 0 && required.approvers.length === 0) return true
  return (
    required.approvers.includes(approver_id) ||
    required.approvers.includes(principal) ||
    roles.some((role) => required.roles.includes(role))
  )
}

/** Everybody who asked for a call: whoever started it, acts in it, owns the actor, or lent the authority. */
export const partiesOf = (subject: Subject, actor: Actor | null): string[] =>
  [subject.id, subject.principal, subject.root_principal, actor?.id, actor?.owner].filter((id) => id !== undefined)

export interface Said {
  /** The person, not the key: one person with two keys is one voice. */
  readonly person: string
  readonly decision: 'approve' | 'deny'
}

/** What the votes come to: one no ends it, a quorum of different people is a yes. */
export function tally(votes: readonly Said[], quorum: number): 'approved' | 'denied' | 'pending' {
  if (votes.some(({ decision }) => decision === 'deny')) return 'denied'
  return new Set(votes.map(({ person }) => person)).size >= quorum ? 'approved' : 'pending'
}

/** Terms without which a request is not complete: one voice within fifteen minutes. */
export const defaultTerms = { quorum: 1, expires_in_s: 900 } as const
