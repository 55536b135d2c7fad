import { parseTime } from '../../base/time.ts'
import { shortened } from '../../base/words.ts'
import type { ApprovalRequest, Demand } from '../../model/approval.ts'
import { runId } from '../../model/run-id.ts'
import { demandsOf } from '../../policy/quorum.ts'
import { type Io, line, paint } from '../terminal/io.ts'
import { printColumns, printFields } from '../terminal/table.ts'

export const printApprovals = (io: Io, items: readonly ApprovalRequest[], now: number, empty: string): void =>
  printColumns(io, items, empty, {
    APPROVAL: (each) => each.approval_id,
    STATE: tallyOf,
    CAPABILITY: ({ capability }) => `${capability.id} ${capability.version}`,
    'ASKED BY': ({ requested_by, actor }) => requested_by.id + (actor === null ? '' : ` via ${agentName(actor.id)}`),
    AGE: ({ created_at }) => ageText(now - (parseTime(created_at) ?? now)),
    ARGUMENTS: argumentsOf,
    POLICY: (each) => each.policy.name,
    UNTIL: (each) => each.expires_at,
  })

/** What the call would be made with, as far as approvers are shown it, on one line. */
export function argumentsOf({ shown }: ApprovalRequest): string {
  const first = new Map<string, string>()
  const texts = shown.map(({ name, value }) => {
    const text = JSON.stringify(value)
    const bare = name.replace(/^payload:\//, '')
    if (!first.has(bare)) first.set(bare, text)
    // A context field is often a member of the payload under its own name, and need not be.
    return `${nameText(first.get(bare) === text ? bare : name)}=${text}`
  })
  return shortened([...new Set(texts)].join(' '), 60) || '–'
}

/** The caller chose it: in quotes if it could be taken for more than a name. */
const nameText = (name: string): string => (/^[\p{L}\p{N}_.:/-]+$/u.test(name) ? name : JSON.stringify(name))

function ageText(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return 'new'
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} d`
}

const agentName = (actor: string): string => actor.replace(/^agent:[^/]*\//, '')

const taskName = ({ correlation_id: id }: ApprovalRequest['correlation']): string =>
  runId.safeParse(id).success ? `run ${id}` : `task ${id}`

/** Exactly one call: what an approver must know to answer for it. */
export function printApproval(io: Io, request: ApprovalRequest, now: number): void {
  const { capability, correlation, policy, required, preview, votes } = request
  const problems = preview.problems.map(({ path }) => path || '/').join(', ')
  line(io, `${paint(io, 'bold', request.approval_id)}  ${tallyOf(request)}`)
  printFields(io, [
    ['call', `${capability.id} ${capability.version}, ${request.invocation_id} of ${taskName(correlation)}`],
    ['asked by', askedBy(request)],
    ['environment', correlation.environment ?? ''],
    ['purpose', request.purpose ?? 'none given'],
    ['policy', `${policy.name}, version ${policy.version || '–'}`, policy.statement],
    ['needs', ...demandsOf(required).map(needs)],
    ['votes', ...(votes.length === 0 ? ['none yet'] : votes.map(voteText))],
    ['until', `${request.expires_at}${request.state === 'pending' ? ` (${left(request, now)})` : ''}`],
    ['input', preview.input_valid ? 'valid' : `not valid at ${problems}`],
    ['digest', request.invocation_digest],
  ])
  line(io)
  printColumns(io, request.shown, 'it is called without arguments', {
    ARGUMENT: ({ name }) => nameText(name),
    VALUE: ({ value }) => JSON.stringify(value),
  })
}

/** The state, and while it is open how many of how many have agreed. */
export function tallyOf({ state, votes, required }: ApprovalRequest): string {
  if (state !== 'pending') return state
  const agreed = votes.filter(({ decision }) => decision === 'approve').length
  // One voice may count for several demands: there is no sum to wait for.
  return required.also === undefined ? `pending, ${agreed} of ${required.quorum}` : `pending, ${agreed} agreed`
}

function askedBy({ requested_by, actor }: ApprovalRequest): string {
  const { id, type, verified, principal } = requested_by
  const how = verified === true ? (type ?? 'verified') : 'not verified'
  const through = actor === null ? '' : `, through ${actor.id}${actor.owner === undefined ? '' : ` of ${actor.owner}`}`
  return `${id} (${how})${through}${principal === undefined ? '' : `, on behalf of ${principal}`}`
}

function needs({ quorum, roles, approvers }: Demand): string {
  const who = [...roles, ...approvers].join(', ') || 'any registered approver'
  return quorum === 1 ? `1 person: ${who}` : `${quorum} different people: ${who}`
}

function voteText(vote: ApprovalRequest['votes'][number]): string {
  const why = vote.rationale === '' ? '' : `, “${vote.rationale}”`
  return `${vote.approver} (${vote.approver_roles.join(', ')}): ${vote.decision}, ${vote.decided_at}${why}`
}

function left({ expires_at }: ApprovalRequest, now: number): string {
  const minutes = Math.floor(((parseTime(expires_at) ?? 0) - now) / 60_000)
  if (minutes < 0) return 'over'
  if (minutes < 60) return `${minutes} min left`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min left`
}
