import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { copyEvent } from '../../evidence/copy.ts'
import { verifyGrant } from '../../evidence/statements/grant.ts'
import type { ApprovalRequest, Approver, Vote } from '../../model/approval.ts'
import type { ApprovalDecision } from '../../model/wire/wire.ts'
import { deepFreeze } from '../../policy/contract.ts'
import { tally } from '../../policy/quorum.ts'
import { problemText } from '../../policy/schema/problems.ts'
import { approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import { Attempt, type Resolved } from '../attempt.ts'
import type { Call } from '../call.ts'
import type { GatewayDeps } from '../deps.ts'
import { passGates } from '../gates/gates.ts'
import { inputProblems, unfit } from '../gates/input.ts'
import { answerWith, approvalEvent, type Decider, type Desk, decidedEvent, writeDecision } from './desk.ts'
import { addRequest, amended, isOver, notApproved, privateOf, requestedPayload } from './request.ts'
import { boundTo, ineligibleBecause, voteOf } from './votes.ts'

export type Decision = ApprovalDecision

interface Deciding {
  readonly by: Decider
  readonly wish: Decision
  readonly approver: Approver
  readonly known: readonly Approver[]
}

/** Takes one person's decision. What settles the request is evidence; a no is also the call's answer from then on. */
export async function decideApproval(desk: Desk, id: string, by: Decider, wish: Decision): Promise<ApprovalRequest> {
  const { deps } = desk
  if (wish.grant !== undefined && wish.decision !== 'approve')
    throw new Failure('field.invalid', 'decision: a grant goes with `approve` alone', { pointer: '/grant' })
  for (;;) {
    const { stored, known } = await deps.store.read(function* () {
      const stored = yield* approvalRecords.get(deps.tenant, id)
      const known = yield* approversInOffice(deps.tenant)
      return { stored, known }
    })
    checkOpen(deps, stored.request)
    const approver = checkedApprover(deps, stored, known, by)
    const decide = wish.decision === 'edit' ? editCall : vote
    const made = await decide(desk, stored, { by, wish, approver, known })
    // Another approver decided in between: the vote is made again on the new state.
    if (made !== undefined) return made.request
  }
}

function checkOpen(deps: GatewayDeps, request: ApprovalRequest): void {
  const { state, approval_id: id } = request
  if (state === 'expired' || (state === 'pending' && isOver(deps, request)))
    throw new Failure('approval.expired', 'the time to decide is over', { id })
  if (state === 'stale' || state === 'withdrawn')
    throw new Failure('approval.stale', 'the call has changed since people were asked', { id })
  if (state !== 'pending') throw new Failure('approval.used', `the request is ${state} already`, { id })
}

/** The entry by which this person may decide; one who has none is told why. */
function checkedApprover(
  deps: GatewayDeps,
  stored: StoredApproval,
  known: readonly Approver[],
  { principal }: Decider,
): Approver {
  const own = known.filter((approver) => approver.principal === principal)
  const able = own.find((approver) => ineligibleBecause(deps, stored, approver) === undefined)
  if (able !== undefined) return able
  const why = privateOf(stored).excluded.includes(principal) ? 'self' : ineligibleBecause(deps, stored, own[0])
  if (why === 'self')
    throw new Failure('approval.self', 'you may not decide about a call of your own', {}, 'ask another approver')
  const message = `you may not decide about this call (${why})`
  throw new Failure('approver.not_permitted', message, { reason: why }, 'see who may with `ambit approvals show`')
}

/** A yes or a no. Undefined if the request was decided meanwhile. */
async function vote(desk: Desk, stored: StoredApproval, deciding: Deciding): Promise<StoredApproval | undefined> {
  const { deps } = desk
  const { by, wish, approver, known } = deciding
  const { request } = stored
  const personOf = (id: string): string => known.find(({ approver_id }) => approver_id === id)?.principal ?? id
  if (request.votes.some((vote) => personOf(vote.approver) === approver.principal))
    throw new Failure('approval.used', 'you have decided about this call already', { id: request.approval_id })
  const decision = wish.decision === 'deny' ? 'deny' : 'approve'
  const signs = decision === 'approve' && (approver.custody === 'self' || wish.grant !== undefined)
  const grants = signs ? [checkedGrant(deps, stored, approver, wish.grant)] : []
  const next = await addVote(deps, stored, deciding, { decision, grants })
  const { state } = next.request
  const drafts = state === 'pending' ? [] : [decidedEvent(deps, next, by.subject)]
  const no = { reason: 'approval_denied', message: notApproved(next.request) }
  const changes = state === 'denied' ? [answerWith(deps, next, no, drafts)] : []
  return (await writeDecision(desk, { before: request, next }, changes, drafts)) ? next : undefined
}

/** The request with one vote more, in the state that all votes come to that count now. */
async function addVote(
  deps: GatewayDeps,
  stored: StoredApproval,
  { approver, known, wish }: Deciding,
  { decision, grants = [] }: { readonly decision: Vote['decision']; readonly grants?: readonly Json[] },
): Promise<StoredApproval> {
  const { request } = stored
  const vote = await voteOf(deps, request, approver, { decision, rationale: wish.rationale })
  const votes = [...request.votes, vote]
  const able = known.filter((each) => ineligibleBecause(deps, stored, each) === undefined)
  const said = votes.flatMap(({ approver: id, decision }) =>
    able.filter(({ approver_id }) => approver_id === id).map((approver) => ({ approver, decision })),
  )
  const state = tally(said, request.required)
  const decided_at = state === 'pending' ? null : vote.decided_at
  const kept = { grants: [...(privateOf(stored).grants ?? []), ...grants] }
  return amended(stored, { votes, state, decided_at }, kept)
}

function checkedGrant(deps: GatewayDeps, stored: StoredApproval, approver: Approver, grant: Json | undefined): Json {
  const pins = new Set([approver.public_key])
  const verified = verifyGrant(grant, { at: deps.clock.now(), pins, presented: boundTo(deps, stored) })
  if (verified.ok) return grant ?? null
  const message = `your own signed grant is needed: ${verified.message}`
  const help = 'sign an approval grant with your key and send it as `grant`'
  throw new Failure('approver.not_permitted', message, { reason: 'grant' }, help)
}

/** Binds a new request to the edited call, with the editor's yes. Undefined if the old one was decided meanwhile. */
async function editCall(desk: Desk, stored: StoredApproval, deciding: Deciding): Promise<StoredApproval | undefined> {
  const { deps } = desk
  const { approver, by, wish } = deciding
  if (wish.payload === undefined)
    throw new Failure('field.missing', 'decision: an edit says what may be done instead', { pointer: '/payload' })
  const { call, fingerprint } = privateOf(stored)
  const minted = await askedAnew(deps, call, deepFreeze(copyEvent(wish.payload, 'payload')))
  // An editor who holds their own key signs a grant for the new request: we cannot do that in their name.
  const isHeld = approver.custody !== 'self'
  const voted = isHeld ? await addVote(deps, minted, deciding, { decision: 'approve' }) : minted
  const next = amended(voted, {}, { fingerprint })
  const { approval_id: replaces } = stored.request
  const { approval_id, state } = next.request
  const drafts = [
    approvalEvent(deps, next.request, {
      event_type: 'approval_requested',
      payload: { ...requestedPayload(next.request), replaces, edited: true },
      subject: by.subject,
    }),
    ...(state === 'approved' ? [decidedEvent(deps, next, by.subject)] : []),
  ]
  const stale = amended(stored, { state: 'stale' }, { replaced_by: approval_id })
  const isWritten = await writeDecision(desk, { before: stored.request, next: stale }, [addRequest(next)], drafts)
  return isWritten ? next : undefined
}

/** The request for the edited call, as the gates ask for it now. One that they would not ask about cannot be edited so. */
async function askedAnew(deps: GatewayDeps, call: Call | undefined, payload: Call['payload']): Promise<StoredApproval> {
  if (call === undefined) throw new Failure('approval.stale', 'the call can no longer be edited')
  const attempt = new Attempt(deps, { ...call, payload }, { edited: true })
  const refusal = await passGates(attempt)
  if (attempt.minted !== undefined) return attempt.minted
  const problems = attempt.capability === undefined ? [] : await inputProblems(attempt as Resolved)
  const { code = null, message: said } = refusal?.denial ?? {}
  const whyNot = code === null ? 'it needs none' : `${said} (${code})`
  const message =
    problems.length > 0
      ? `${unfit}: ${problemText(problems)}`
      : `the edited call would not wait for approval: ${whyNot}`
  const data = { pointer: '/payload', reason: code }
  throw new Failure('field.invalid', message, data, 'edit it differently, or deny it')
}
