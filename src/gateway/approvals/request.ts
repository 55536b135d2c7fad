import { canonical, type Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { objectHash, sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { formatTime, parseTime } from '../../base/time.ts'
import { actionDigest, invocationDigest } from '../../evidence/digests.ts'
import { payloadCommitment } from '../../evidence/event.ts'
import { redact, scrubText } from '../../evidence/redaction/redact-values.ts'
import type { ApprovalRequest, Demand } from '../../model/approval.ts'
import type { ApprovalTerms } from '../../model/policy.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { bindOf, demandsOf, partiesOf, requiredOf, secondsOpen } from '../../policy/quorum.ts'
import { problemText, type SchemaProblem } from '../../policy/schema/problems.ts'
import { approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import type { Change, Work } from '../../storage/work.ts'
import { type Attempt, type Resolved, sayMore, secretsOf } from '../attempt.ts'
import { type Call, callKey, fingerprintOf, recordKey, recordKeysOf, waitingCopy } from '../call.ts'
import type { GatewayDeps } from '../deps.ts'
import { contextEntry, FactsChanged, hideInBaggage } from '../events.ts'
import { inputProblems, unfit } from '../gates/input.ts'

/** What asks for a yes: a rule, or the capability itself. */
export interface Asking {
  readonly gate: 'policy' | 'approval'
  /** Each of them is to be met; none asks for anybody who may. */
  readonly terms: readonly ApprovalTerms[]
  readonly rule: string
}

/** What the queue knows of a request and never shows. */
export interface Private {
  readonly nonce: string
  readonly excluded: readonly string[]
  readonly bind: 'call' | 'protocol'
  readonly record_key: string
  /** The call itself while it may still be edited; gone once the request is settled. */
  readonly call?: Call
  /** The payload of the call is one that an approver has put in the place of the caller's. */
  readonly edited?: true
  /** Of the call that was asked for, whatever was edited in it since. */
  readonly fingerprint: string
  readonly replaced_by?: string
  /** Signed grants of approvers who hold their own keys. */
  readonly grants?: readonly Json[]
}

export const privateOf = ({ private: kept }: StoredApproval): Private => kept as unknown as Private

/** The request with changed members, and without the call once it can no longer be edited. */
export function amended(stored: StoredApproval, request: Partial<ApprovalRequest>, more: Partial<Private> = {}) {
  const next = { ...stored.request, ...request }
  const { call, ...rest } = { ...privateOf(stored), ...more }
  const kept: Private = isOpen(next) && call !== undefined ? { ...rest, call } : rest
  const made: StoredApproval = { request: next, private: kept as unknown as Json }
  return made
}

/** True while people may still decide about it, or their yes may still be used. */
export const isOpen = ({ state }: Pick<ApprovalRequest, 'state'>): boolean =>
  state === 'pending' || state === 'approved'

export const isOver = ({ clock }: GatewayDeps, { expires_at }: ApprovalRequest): boolean =>
  clock.now() >= (parseTime(expires_at) ?? 0)

/** Prepares the request that people are asked with, and answers that the call has to wait for them. */
export async function mintRequest(attempt: Resolved, asking: Asking): Promise<Refusal> {
  hideInBaggage(attempt)
  const { deps, call } = attempt
  const nonce = Buffer.from(deps.random(16)).toString('hex')
  const problems = await inputProblems(attempt)
  const [asked] = attempt.requests
  // What takes the place of a request is not counted.
  const isFirst = problems.length === 0 && asked === undefined && !attempt.edited
  const used = isFirst ? await deps.store.read(() => countPending(attempt)) : 0
  if (used >= limits.pendingRequestsPerCallerMax) return crowded(attempt, asking, used)
  const request = requestOf(attempt, asking, { nonce, problems })
  const kept: Private = {
    nonce,
    fingerprint: asked === undefined ? fingerprintOf(call) : privateOf(asked).fingerprint,
    excluded: partiesOf(attempt.subject, call.actor),
    bind: bindOf(asking.terms),
    record_key: recordKey(call),
    ...(isOpen(request) && { call: waitingCopy(call) }),
    ...(attempt.edited && { edited: true }),
  }
  const minted: StoredApproval = { request, private: kept as unknown as Json }
  if (isOpen(request)) attempt.minted = minted
  attempt.changes.push(isFirst ? whileFits(attempt, addRequest(minted)) : addRequest(minted))
  attempt.events.push({ type: 'approval_requested', payload: requestedPayload(request) })
  const refusal = waiting(asking, request)
  // People are not asked about a call that could not run: its caller is told what is wrong.
  return problems.length === 0 ? refusal : sayMore(attempt, refusal, `, and ${unfit}: ${problemText(problems)}`)
}

export function addRequest(stored: StoredApproval): Change {
  const { record_key, fingerprint } = privateOf(stored)
  const { invocation_id, actor } = stored.request
  const asker = record_key.slice(recordKeysOf(invocation_id).length)
  return approvalRecords.add(record_key, stored, { asker, ask: askOf(asker, fingerprint, actor) })
}

/** Who asks for what, whatever the id of the call: by it, those who cannot repeat an id find what they asked for. */
export const askOf = (asker: string, fingerprint: string, actor: Call['actor']): string =>
  sha256(canonical([asker, fingerprint, actor?.id ?? null]))

/** How many requests of one caller wait. Looked at before people are asked, and again with the request, so that it is exact. */
const countPending = ({ deps, call }: Attempt): Work<number> =>
  approvalRecords.countPending(deps.tenant, callKey(call.caller.name), deps.clock.now())

const whileFits = (attempt: Attempt, change: Change): Change =>
  function* (tenant) {
    if ((yield* countPending(attempt)) >= limits.pendingRequestsPerCallerMax) throw new FactsChanged()
    yield* change(tenant)
  }

function crowded({ events }: Attempt, { gate }: Asking, used: number): Refusal {
  const counts = { limit: 'pending_requests', used, max: limits.pendingRequestsPerCallerMax }
  events.push({ type: 'budget_exceeded', payload: counts })
  const required_next_action = 'wait until people have decided about some of them, then call with a new invocation_id'
  const message = `${used} calls of this caller wait for people, and no more may`
  return refuse(gate, 'budget_exceeded', message, { ...counts, required_next_action })
}

export const requestedPayload = ({ approval_id, expires_at, required, invocation_digest }: ApprovalRequest) => ({
  approval_id,
  expires_at,
  quorum: required.quorum,
  roles: required.roles,
  ...(required.also && { also: required.also }),
  digest: invocation_digest,
})

function requestOf(
  attempt: Resolved,
  { gate, terms }: Asking,
  { nonce, problems }: { readonly nonce: string; readonly problems: readonly SchemaProblem[] },
): ApprovalRequest {
  const { deps, call, capability, subject, policy } = attempt
  const version = attempt.version ?? '0'
  const asking = gate === 'policy' ? policy : capability.declared
  const { payloadCommitment, invocationDigest } = bindingOf(attempt, nonce)
  const now = deps.clock.now()
  return {
    approval_id: deps.ids.next('apr'),
    state: problems.length === 0 ? 'pending' : 'withdrawn',
    created_at: formatTime(now),
    expires_at: formatTime(now + secondsOpen(terms) * 1000),
    invocation_id: call.invocationId,
    correlation: call.correlation,
    capability: { id: call.capabilityId, version },
    policy: {
      name: asking?.name ?? 'declared',
      version: asking?.version ?? version,
      statement: capability.descriptor.metadata?.policy?.statement ?? '',
    },
    requested_by: subject,
    actor: call.actor,
    purpose: call.purpose === undefined ? null : scrubText(call.purpose, secretsOf(attempt)),
    shown: shownOf(attempt),
    payload_commitment: payloadCommitment,
    invocation_digest: invocationDigest as `sha256:${string}`,
    required: requiredOf(terms),
    votes: [],
    preview: {
      input_valid: problems.length === 0,
      problems: problems.map(({ path, keyword }) => ({ path, keyword })),
    },
    decided_at: null,
    redeemed_at: null,
  }
}

/**
 * The fields the contract marks, and all arguments by name. Only what the capability itself declares private is hidden.
 * Undeclared names hide nothing: a caller could use them to hide what is to be done.
 */
function shownOf({ call, capability, context }: Resolved): ApprovalRequest['shown'] {
  const marked = context.fields.flatMap(({ name, shown, sensitive, value }) =>
    shown && !sensitive && value !== undefined ? [{ name, value }] : [],
  )
  const marks = capability.approverMarks()
  const members = Object.entries(call.payload).map(([name, member]) => ({
    name: `payload:/${shortened(name)}`,
    value: redact(member as Json, marks.member(name), [], () => false).value,
  }))
  return [...marked, ...members]
}

const nameCharsMax = 200

/** A name that is too long to be shown whole, and still not to be taken for another. */
const shortened = (name: string): string =>
  name.length > nameCharsMax ? `${name.slice(0, nameCharsMax)}… (${sha256(name).slice(0, 16)})` : name

export function waiting(
  { gate, rule }: Asking,
  { approval_id, policy, required, expires_at, preview }: ApprovalRequest,
): Refusal {
  const message =
    gate === 'policy'
      ? `${policy.name} must approve before execution`
      : 'the capability demands that people approve before execution'
  return refuse(gate, 'approval_required', message, {
    policy: policy.name,
    approval_id,
    decision: 'requires_approval',
    matched_rule: rule,
    policy_version: policy.version,
    expires_at,
    quorum: required.quorum,
    roles: required.roles,
    ...(required.also && { also: required.also }),
    required_next_action: preview.input_valid
      ? `wait for ${demandsOf(required).map(demandText).join(' and ')}, then repeat this invocation_id`
      : 'send a payload that passes the input schema, with a new invocation_id',
    ...(!preview.input_valid && { preview: preview as unknown as Json }),
  })
}

/** The caller sees the reason, never the approver's name. */
export function notApproved({ votes }: ApprovalRequest): string {
  const { rationale = '' } = votes.find(({ decision }) => decision === 'deny') ?? {}
  return rationale === '' ? 'the call was not approved' : `the call was not approved: ${quote(rationale)}`
}

function demandText({ roles, approvers, quorum }: Demand): string {
  const who = [...roles, ...approvers].join(', ') || 'an approver'
  return `${quorum} approval${quorum === 1 ? '' : 's'} by ${who}`
}

/** What an approval is bound to. The nonce stays here, so that guesses at a payload cannot be tested on the digest. */
export function bindingOf(attempt: Resolved, nonce: string) {
  const { deps, call, subject, capability, version, policy, context } = attempt
  const principal = { id: subject.id }
  const action = actionDigest({
    capability: { id: call.capabilityId, version: version ?? '' },
    principal,
    input: call.payload as Json,
    semantic_context: {},
  })
  return {
    payloadCommitment: payloadCommitment(call.payload as Json),
    actionDigest: action,
    invocationDigest: invocationDigest({
      invocation_id: call.invocationId,
      action_digest: action,
      actor: call.actor as Json,
      principal,
      binding: call.binding ?? { id: 'self' },
      provider: { id: deps.hostId },
      host: { id: deps.hostId },
      governance_context: {
        tenant: deps.tenant,
        run_id: call.run?.id ?? null,
        grants: call.run === undefined ? null : objectHash(call.run.grants as Json),
        descriptor: capability.digest,
        policy: policy?.hash ?? null,
        context: objectHash(context.fields.map((field) => contextEntry(deps, field)) as Json),
        evidence_snapshot: call.metadata['evidence_snapshot'] ?? null,
        nonce,
      },
    }),
  }
}
