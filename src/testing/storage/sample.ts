import { canonical } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import type { ApprovalRequest, Approver } from '../../model/approval.ts'
import type { Amounts } from '../../model/config/budget.ts'
import type { ChainPosition, EventDraft, Seal, SealedEvent } from '../../model/evidence.ts'
import type { Principal } from '../../model/identity/principal.ts'
import type { Tenant } from '../../model/identity/tenant.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredApproval } from '../../storage/tables/approvals.ts'
import { neverEnds, reserve, usesIn } from '../../storage/tables/budget-uses.ts'
import type { Claim } from '../../storage/tables/claims.ts'
import { addTenant } from '../../storage/tables/tenants.ts'
import type { Change, Work } from '../../storage/work.ts'

/**
 * The smallest seal that keeps the promises of `Seal`: next sequence, link to the correlation's tail.
 * The body holds the link as `prev`, so that chains can be checked without knowing how evidence is hashed.
 */
export const plainSeal: Seal = (drafts, at) => {
  const tails = new Map(at.tails)
  return drafts.map((draft, index) => {
    const event = sealOne(draft, at.sequence + index + 1, tails)
    tails.set(event.correlationId, event.contentHash)
    return event
  })
}

function sealOne(draft: EventDraft, sequence: number, tails: ChainPosition['tails']): SealedEvent {
  const { correlation_id } = draft.correlation
  const prev = tails.get(correlation_id) ?? null
  const body = canonical({ id: draft.event_id, payload: draft.payload, prev, sequence })
  return {
    sequence,
    eventId: draft.event_id,
    eventType: draft.event_type,
    invocationId: draft.invocation_id,
    capabilityId: draft.capability_id,
    correlationId: correlation_id,
    timestamp: draft.timestamp,
    outcome: draft.outcome,
    subjectId: draft.subject?.id ?? null,
    contentHash: sha256(body),
    body,
  }
}

/** A draft with this id; what is not given is plain. */
export const sampleDraft = (event_id: string, given: Partial<EventDraft> = {}): EventDraft => ({
  event_id,
  event_type: 'sample.happened',
  invocation_id: 'inv_1',
  capability_id: 'sample.act',
  timestamp: formatTime(0),
  outcome: 'success',
  correlation: { correlation_id: 'cor_1' },
  payload: {},
  subject: null,
  actor: null,
  capability_version: null,
  denial: null,
  error: null,
  redacted: false,
  ...given,
})

export const samplePrincipal = (principal_id: string, display: string | null = null): Principal => ({
  principal_id,
  kind: 'service',
  display,
  roles: [],
  permissions: [],
  revoked_permissions: [],
  status: 'active',
  created_at: formatTime(0),
})

export const sampleTenant = (tenant_id: string, host_id = tenant_id): Tenant => ({
  tenant_id,
  host_id,
  name: tenant_id,
  roots: [],
  status: 'active',
  created_at: formatTime(0),
})

/** A claim on a key, to be taken; what is not given is plain. */
export const sampleClaim = (
  key: string,
  given: Partial<Claim> = {},
): Omit<Claim, 'state' | 'result' | 'expiresAtMs'> => ({
  scope: 's',
  key,
  fingerprint: 'f',
  owner: 'o',
  body: `{"key":${JSON.stringify(key)}}`,
  ...given,
})

/** An approval request with this id, pending; what is not given is plain. */
export const sampleApproval = (approval_id: string, given: Partial<ApprovalRequest> = {}): StoredApproval => ({
  request: {
    approval_id,
    state: 'pending',
    created_at: formatTime(0),
    expires_at: formatTime(900_000),
    invocation_id: 'inv_1',
    correlation: { correlation_id: 'cor_1' },
    capability: { id: 'sample.act', version: '1.0.0' },
    policy: { name: 'sample', version: '1', statement: 'a person must agree' },
    requested_by: { id: 'p' },
    actor: null,
    purpose: null,
    shown: [],
    payload_commitment: sha256('payload'),
    invocation_digest: `sha256:${sha256('call')}`,
    required: { roles: ['lead'], approvers: [], quorum: 1 },
    votes: [],
    preview: { input_valid: true, problems: [] },
    decided_at: null,
    redeemed_at: null,
    ...given,
  },
  private: { nonce: approval_id },
})

export const sampleApprover = (approver_id: string, given: Partial<Approver> = {}): Approver => ({
  approver_id,
  principal: approver_id,
  roles: ['lead'],
  public_key: 'A'.repeat(43),
  key_id: '0'.repeat(16),
  custody: 'self',
  valid_from: formatTime(0),
  valid_until: null,
  revoked_at: null,
  ...given,
})

/** Makes a tenant in the store and gives its checked id. */
export async function makeTenant(store: Store, name: string): Promise<TenantId> {
  const tenant = tenantId(name)
  await store.write(tenant, addTenant(sampleTenant(name)))
  return tenant
}

/** The body that `plainSeal` writes. */
export interface PlainBody {
  readonly id: string
  readonly prev: string | null
  readonly sequence: number
}

/** What is wrong with a tenant's events, given in order: gaps, a link that does not hold, a body of another event. */
export function chainFlaws(events: readonly SealedEvent[]): string[] {
  const tails = new Map<string, string>()
  return events.flatMap((event, index) => {
    const body = JSON.parse(event.body) as PlainBody
    const prev = tails.get(event.correlationId) ?? null
    tails.set(event.correlationId, event.contentHash)
    return [
      ...(event.sequence === index + 1 ? [] : [`${event.eventId} has sequence ${event.sequence}, not ${index + 1}`]),
      ...(body.prev === prev ? [] : [`${event.eventId} does not link to the event before it`]),
      ...(body.id === event.eventId && body.sequence === event.sequence ? [] : [`${event.eventId} has another's body`]),
      ...(event.contentHash === sha256(event.body) ? [] : [`${event.eventId} does not have its hash`]),
    ]
  })
}

/** Counts uses of something that may be used `max` times and never renews. */
export const addWithin = ({ scope, key, amount, max }: SampleUse): Change<Amounts> =>
  reserve({ budget: scope, holder: key, ...neverEnds, amounts: { calls: amount } }, { calls: max })

export interface SampleUse {
  readonly scope: string
  readonly key: string
  readonly amount: number
  readonly max: number
}

/** How often it was used. */
export function* countOf(tenant: TenantId, scope: string, key: string): Work<number> {
  const [used] = yield* usesIn(tenant, [{ budget: scope, holder: key, ...neverEnds }])
  return used?.calls ?? 0
}
