import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { copyEvent } from '../../evidence/copy.ts'
import type { Approver } from '../../model/approval.ts'
import { tally } from '../../policy/approval.ts'
import { deepFreeze } from '../../policy/contract.ts'
import type { Refusal } from '../../policy/gates/refusal.ts'
import { problemText } from '../../policy/schema/problems.ts'
import { approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import type { Change } from '../../storage/work.ts'
import { startAttempt } from '../attempt.ts'
import type { Call } from '../call.ts'
import type { GatewayDeps } from '../deps.ts'
import { passGates } from '../gates/gates.ts'
import { inputProblems, unfit } from '../gates/input.ts'
import { FactsChanged } from '../write.ts'
import { approvalEvent, type Decider, type Desk, decidedEvent, writeDecision } from './desk.ts'
import { addRequest, amended, privateOf, requestedPayload } from './request.ts'
import { voteOf } from './vote.ts'

interface Editing {
  readonly approver: Approver
  readonly by: Decider
  readonly wish: { readonly payload: { readonly [key: string]: Json }; readonly rationale?: string | undefined }
}

/**
 * Puts an edited payload in the place of the caller's: the old request is stale, a new one is bound to the edited call,
 * and the editor's yes counts on it. Undefined if the old request was decided meanwhile.
 */
export async function editCall(
  desk: Desk,
  stored: StoredApproval,
  { approver, by, wish }: Editing,
): Promise<StoredApproval | undefined> {
  const { deps } = desk
  const payload = deepFreeze(copyEvent(wish.payload, 'payload'))
  const minted = await askedAnew(deps, privateOf(stored).call, payload)
  const { fingerprint } = privateOf(stored)
  const next = amended(await withVote(deps, minted, approver, wish.rationale), {}, { fingerprint })
  const { approval_id: old } = stored.request
  const { approval_id } = next.request
  const asked = { ...requestedPayload(next.request), replaces: old, edited: true }
  const drafts = [
    approvalEvent(deps, next.request, by.subject, { event_type: 'approval_requested', payload: asked }),
    ...(next.request.state === 'approved' ? [decidedEvent(deps, next, by.subject)] : []),
  ]
  const change: Change = function* (tenant) {
    yield* approvalRecords.amend(old, (now) => {
      if (now.request.state !== 'pending' || now.request.votes.length !== stored.request.votes.length)
        throw new FactsChanged()
      return amended(now, { state: 'stale' }, { replaced_by: approval_id })
    })(tenant)
    yield* addRequest(next)(tenant)
  }
  return (await writeDecision(desk, old, change, drafts)) ? next : undefined
}

/** The request for the edited call, as the gates ask for it now. One that they would not ask about cannot be edited so. */
async function askedAnew(deps: GatewayDeps, call: Call | undefined, payload: Call['payload']): Promise<StoredApproval> {
  if (call === undefined) throw new Failure('approval.stale', 'the call can no longer be edited')
  const attempt = { ...startAttempt({ ...call, payload }), edited: true }
  const stop = await passGates(deps, deps.offer(), attempt)
  const refusal = stop !== undefined && 'settled' in stop ? undefined : stop
  if (attempt.minted !== undefined) return attempt.minted
  const problems = await inputProblems(attempt)
  throw new Failure(
    'field.invalid',
    problems.length > 0
      ? `${unfit}: ${problemText(problems)}`
      : `the edited call would not wait for approval: ${whyNot(refusal)}`,
    { pointer: '/payload', reason: refusal?.denial.code ?? null },
    'edit it differently, or deny it',
  )
}

const whyNot = (refusal: Refusal | undefined): string =>
  refusal === undefined ? 'it needs none' : `${refusal.denial.message} (${refusal.denial.code})`

/** An editor who holds their own key signs a grant for the new request: we cannot do that in their name. */
async function withVote(
  deps: GatewayDeps,
  stored: StoredApproval,
  approver: Approver,
  rationale: string | undefined,
): Promise<StoredApproval> {
  if (approver.custody === 'self') return stored
  const vote = await voteOf(deps, stored.request, approver, { decision: 'approve', rationale })
  const state = tally([{ approver, decision: 'approve' }], stored.request.required)
  return amended(stored, { votes: [vote], state, decided_at: state === 'pending' ? null : vote.decided_at })
}
