import type { Json } from '../base/canonical.ts'
import { quote } from '../base/failure.ts'
import { formatTime } from '../base/time.ts'
import { isPrivateName } from '../evidence/names.ts'
import { type Marks, redact, scrubText } from '../evidence/redact.ts'
import type { ApprovalRequest, Demand } from '../model/approval.ts'
import type { ApprovalTerms } from '../model/policy.ts'
import { bindOf, demandsOf, partiesOf, requiredOf, secondsOpen } from '../policy/approval.ts'
import { type Refusal, refuse } from '../policy/gates/refusal.ts'
import { approvalRecords, type StoredApproval } from '../storage/approvals.ts'
import { bindingOf } from './approval-binding.ts'
import { type Attempt, secretsOf } from './attempt.ts'
import { type Call, callKey } from './call.ts'
import type { GatewayDeps } from './deps.ts'
import { hideInBaggage } from './events.ts'
import { checkInput } from './input.ts'

/** What asks for a yes: a rule, or the capability itself. */
export interface Asking {
  readonly gate: 6 | 8
  /** Each of them is to be met; none asks for anybody who may. */
  readonly terms: readonly ApprovalTerms[]
  readonly rule: string
}

/** What the queue knows of a request and shows to nobody. */
export interface Private {
  readonly nonce: string
  readonly excluded: readonly string[]
  readonly bind: 'call' | 'protocol'
  readonly record_key: string
  /** The call itself while it may still be edited; gone once the request is settled. */
  readonly call?: Call
  /** The payload of the call is one that an approver has put in the place of the caller's. */
  readonly edited?: true
  /** The commitment to the payload that was asked for, where that is another one by now. */
  readonly asked?: string
  /** The request that took the place of this one when it was edited. */
  readonly replaced_by?: string
  /** Signed grants of approvers who hold their own keys. */
  readonly grants?: readonly Json[]
}

export const privateOf = ({ private: kept }: StoredApproval): Private => kept as unknown as Private

/** The request as it is kept from now on: with other members, and without the call once nobody may edit it any more. */
export function amended(
  stored: StoredApproval,
  request: Partial<ApprovalRequest>,
  more: Partial<Private> = {},
): StoredApproval {
  const next = { ...stored.request, ...request }
  const { call, ...rest } = { ...privateOf(stored), ...more }
  const kept: Private = isOpen(next) && call !== undefined ? { ...rest, call } : rest
  return { request: next, private: kept as unknown as Json }
}

/** True while people may still decide about it, or their yes may still be used. */
export const isOpen = ({ state }: Pick<ApprovalRequest, 'state'>): boolean =>
  state === 'pending' || state === 'approved'

/** The name of a call in the queue and among the recorded results. */
export const recordKey = ({ caller, invocationId }: Pick<Call, 'caller' | 'invocationId'>): string =>
  `${recordKeysOf(invocationId)}${callKey(caller.name)}`

/** How the names of all calls with one id begin, whoever made them. */
export const recordKeysOf = (invocationId: string): string => callKey(invocationId)

/** Prepares the request that people are asked with, and answers that the call has to wait for them. */
export async function mintRequest(deps: GatewayDeps, attempt: Attempt, asking: Asking): Promise<Refusal> {
  hideInBaggage(attempt)
  const nonce = Buffer.from(deps.random(16)).toString('hex')
  const request = await requestOf(deps, attempt, asking, nonce)
  const kept: Private = {
    nonce,
    excluded: partiesOf(attempt.subject, attempt.call.actor),
    bind: bindOf(asking.terms),
    record_key: recordKey(attempt.call),
    ...(isOpen(request) && { call: { ...attempt.call, grants: [] } }),
    ...(attempt.edited && { edited: true }),
  }
  const minted: StoredApproval = { request, private: kept as unknown as Json }
  if (isOpen(request)) attempt.minted = minted
  attempt.changes.push(approvalRecords.add(kept.record_key, minted))
  attempt.events.push({ type: 'approval_requested', payload: requestedPayload(request) })
  return waiting(asking, request)
}

export const requestedPayload = ({ approval_id, expires_at, required, invocation_digest }: ApprovalRequest) => ({
  approval_id,
  expires_at,
  quorum: required.quorum,
  roles: required.roles,
  ...(required.also && { also: required.also }),
  digest: invocation_digest,
})

async function requestOf(
  deps: GatewayDeps,
  attempt: Attempt,
  { gate, terms }: Asking,
  nonce: string,
): Promise<ApprovalRequest> {
  const { call, capability, subject, policy } = attempt
  const { payloadCommitment, invocationDigest } = bindingOf(attempt, nonce, deps)
  const checked = capability && (await checkInput(capability, call.payload))
  const problems = checked !== undefined && 'problems' in checked ? checked.problems : []
  const now = deps.clock.now()
  const secrets = secretsOf(attempt)
  return {
    approval_id: deps.ids.next('apr'),
    // People are not asked about a call that could not run.
    state: problems.length === 0 ? 'pending' : 'withdrawn',
    created_at: formatTime(now),
    expires_at: formatTime(now + secondsOpen(terms) * 1000),
    invocation_id: call.invocationId,
    correlation: call.correlation,
    capability: { id: call.capabilityId, version: attempt.version ?? '' },
    policy: {
      ...(gate === 6 && policy ? { name: policy.name, version: policy.version } : declaredIn(attempt)),
      statement: capability?.descriptor.metadata?.policy?.statement ?? '',
    },
    requested_by: subject,
    actor: call.actor,
    purpose: call.purpose === undefined ? null : scrubText(call.purpose, secrets),
    shown: shownOf(attempt),
    payload_commitment: payloadCommitment,
    invocation_digest: invocationDigest as `sha256:${string}`,
    required: requiredOf(terms),
    votes: [],
    preview: { input_valid: problems.length === 0, problems: [...problems] },
    decided_at: null,
    redeemed_at: null,
  }
}

/**
 * What an approver is shown: the fields the contract marks, and the arguments; hidden is only what its own place or name
 * says is private. What is hidden in one place is not looked for in others: whoever asks could hide there what is to be done.
 */
function shownOf({ call, capability, context }: Attempt): ApprovalRequest['shown'] {
  const visible = (value: Json, marks: Marks): Json => redact(value, marks, [], isPrivateName).value
  const marked = context.fields.flatMap(({ name, shown, sensitive, value }) =>
    shown && !sensitive && value !== undefined ? [{ name, value: visible(value, nothingMarked) }] : [],
  )
  const value = visible(call.payload as Json, capability?.inputMarks ?? { pointers: new Set(), all: true })
  const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  return [
    ...marked,
    ...members.map(([name, member]) => ({ name: `payload:/${name}`.slice(0, 256), value: member ?? null })),
  ]
}

const declaredIn = ({ version }: Attempt) => ({ name: 'declared', version: version ?? '0' })

const nothingMarked = { pointers: new Set<string>(), all: false }

/** The call waits for people, and is told what for. */
export function waiting(
  { gate, rule }: Asking,
  { approval_id, policy, required, expires_at, preview }: ApprovalRequest,
): Refusal {
  return refuse(gate, 'approval_required', {
    message:
      gate === 6
        ? `${policy.name} must approve before execution`
        : 'the capability demands that people approve before execution',
    details: {
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
    },
  })
}

/** Who it was is not for whoever asked to know; why is. */
export function notApproved({ votes }: ApprovalRequest): string {
  const { rationale = '' } = votes.find(({ decision }) => decision === 'deny') ?? {}
  return rationale === '' ? 'the call was not approved' : `the call was not approved: ${quote(rationale)}`
}

function demandText({ roles, approvers, quorum }: Demand): string {
  const who = [...roles, ...approvers].join(', ') || 'an approver'
  return `${quorum} approval${quorum === 1 ? '' : 's'} by ${who}`
}
