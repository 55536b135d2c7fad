import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { verifyGrant } from '../../evidence/statements/grant.ts'
import type { ApprovalRequest, Approver } from '../../model/approval.ts'
import type { ApprovalDecision } from '../../model/wire/wire.ts'
import { tally } from '../../policy/approval.ts'
import { approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import type { Change } from '../../storage/work.ts'
import type { GatewayDeps } from '../deps.ts'
import { FactsChanged } from '../write.ts'
import { isOver } from './ask.ts'
import { answerWith, type Decider, type Desk, decidedEvent, writeDecision } from './desk.ts'
import { editCall } from './edit.ts'
import { amended, notApproved, privateOf } from './request.ts'
import { boundTo, ineligibleBecause } from './valid-votes.ts'
import { voteOf } from './vote.ts'

export type Decision = ApprovalDecision

/**
 * Takes one person's decision about one request. When it settles the request, that is evidence, written with it; a no
 * is also what the call will be answered from then on.
 */
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
    if (wish.decision === 'edit') {
      const made = await editCall(desk, stored, { approver, by, wish: checkedEdit(wish) })
      if (made !== undefined) return made.request
    } else {
      const next = await voted(deps, stored, { approver, known, wish, decision: wish.decision })
      if (await kept(desk, stored, next, by)) return next.request
    }
  }
}

function checkedEdit({ payload, rationale }: Decision) {
  if (payload !== undefined) return { payload, rationale }
  throw new Failure('field.missing', 'decision: an edit says what may be done instead', { pointer: '/payload' })
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
    throw new Failure('approval.self', 'nobody decides about a call of their own', {}, 'ask somebody else')
  throw new Failure(
    'approver.not_permitted',
    `you may not decide about this call (${why})`,
    { reason: why },
    'see who may with `ambit approvals show`',
  )
}

interface Voting {
  readonly approver: Approver
  readonly known: readonly Approver[]
  readonly wish: Decision
  readonly decision: 'approve' | 'deny'
}

async function voted(
  deps: GatewayDeps,
  stored: StoredApproval,
  { approver, known, wish, decision }: Voting,
): Promise<StoredApproval> {
  const { request } = stored
  const personOf = (id: string): string => known.find(({ approver_id }) => approver_id === id)?.principal ?? id
  if (request.votes.some((vote) => personOf(vote.approver) === approver.principal))
    throw new Failure('approval.used', 'you have decided about this call already', { id: request.approval_id })
  const signs = decision === 'approve' && (approver.custody === 'self' || wish.grant !== undefined)
  const grants = signs ? [checkedGrant(deps, stored, approver, wish.grant)] : []
  const vote = await voteOf(deps, request, approver, { decision, rationale: wish.rationale })
  const votes = [...request.votes, vote]
  const able = known.filter((each) => ineligibleBecause(deps, stored, each) === undefined)
  const said = votes.flatMap(({ approver: id, decision }) =>
    able.filter(({ approver_id }) => approver_id === id).map((approver) => ({ approver, decision })),
  )
  const state = tally(said, request.required)
  return amended(
    stored,
    { votes, state, decided_at: state === 'pending' ? null : vote.decided_at },
    { grants: [...(privateOf(stored).grants ?? []), ...grants] },
  )
}

function checkedGrant(deps: GatewayDeps, stored: StoredApproval, approver: Approver, grant: Json | undefined): Json {
  const pins = new Set([approver.public_key])
  const verified = verifyGrant(grant, { at: deps.clock.now(), pins, presented: boundTo(deps, stored) })
  if (verified.ok) return grant ?? null
  throw new Failure(
    'approver.not_permitted',
    `your own signed grant is needed: ${verified.message}`,
    { reason: 'grant' },
    'sign an approval grant with your key and send it as `grant`',
  )
}

/** Writes the decision unless somebody else decided in between; then it is to be made anew. */
function kept(desk: Desk, before: StoredApproval, next: StoredApproval, { subject }: Decider): Promise<boolean> {
  const { approval_id, state } = next.request
  const drafts = state === 'pending' ? [] : [decidedEvent(desk.deps, next, subject)]
  const change: Change = function* (tenant) {
    yield* approvalRecords.amend(approval_id, (now) => {
      if (now.request.votes.length !== before.request.votes.length || now.request.state !== 'pending')
        throw new FactsChanged()
      return next
    })(tenant)
    const no = { reason: 'approval_denied', message: notApproved(next.request) }
    if (state === 'denied') yield* answerWith(desk.deps, next, no, drafts)(tenant)
  }
  return writeDecision(desk, approval_id, change, drafts)
}
