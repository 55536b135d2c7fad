// A host whose capability needs people, and the people.

import assert from 'node:assert/strict'
import type { Json } from '../../src/base/canonical.ts'
import type { Signer } from '../../src/base/ed25519.ts'
import type { Decision } from '../../src/gateway/approvals/decide.ts'
import type { CallCaller } from '../../src/gateway/call.ts'
import { type CapabilitySpec, defineCapability } from '../../src/gateway/capability.ts'
import type { ApprovalRequest } from '../../src/model/approval.ts'
import type { ApprovalTerms, Policy } from '../../src/model/policy.ts'
import type { OfferSpec } from '../../src/runtime/hosting/offer.ts'
import { addApprover, type NewApprover } from '../../src/runtime/identity/approvers.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { approvalRecords } from '../../src/storage/tables/approvals.ts'
import { type GrantFields, signGrant } from './evidence-statements.ts'
import { type GivenHost, givenHost, stillClock } from './host.ts'

export interface GivenApprovals extends GivenHost {
  readonly clock: ReturnType<typeof stillClock>
  readonly planner: CallCaller
  readonly done: readonly Json[]
  person(id: string, wish?: Omit<NewApprover, 'principal'>): Promise<CallCaller>
  /** Calls as the planner, always under the same id unless said. */
  ask(payload?: object, more?: object): Promise<Awaited<ReturnType<GivenHost['call']>>>
  decide(id: string, by: string, decision: Decision['decision'] | Decision): Promise<ApprovalRequest>
  request(id: string): Promise<ApprovalRequest>
  grant(request: ApprovalRequest, signer: Signer, more?: Partial<GrantFields>): Json
}

export const payload = { batch: 'B-1', minutes: 14 }

const pharmacist = { roles: ['pharmacist'] } as const

export const askingPolicy = (approval: ApprovalTerms = { roles: ['pharmacist'] }, version = '1'): Policy => ({
  name: 'release',
  version,
  applies_to: ['depot.*'],
  rules: [
    { id: 'warm', when: { '>': [{ var: 'context.minutes' }, 0] }, decision: 'requires_approval', approval },
    { id: 'cold', when: { '==': [{ var: 'context.minutes' }, 0] }, decision: 'allow' },
    { id: 'burnt', when: { '>': [{ var: 'context.minutes' }, 99] }, decision: 'deny' },
  ],
})

export async function givenApprovals(
  terms?: ApprovalTerms,
  spec: Partial<CapabilitySpec> = {},
  more: Partial<OfferSpec> = {},
): Promise<GivenApprovals> {
  const clock = stillClock()
  const done: Json[] = []
  const release = defineCapability(
    {
      id: 'depot.release',
      version: '1.0.0',
      description: 'Releases a batch.',
      policy: { name: 'release', statement: 'A pharmacist releases what was warm.', may_require: ['approval'] },
      input: {
        type: 'object',
        properties: {
          batch: { type: 'string' },
          minutes: { type: 'integer' },
          patient: { type: 'string', 'x-sensitive': true },
        },
        required: ['batch', 'minutes'],
      },
      context: {
        name: 'batch',
        version: '1.0.0',
        identifies: 'the batch',
        fields: {
          minutes: { source: 'payload:/minutes', schema: { type: 'integer' }, show_to_approver: true },
        },
        example: { minutes: 1 },
      },
      ...spec,
    },
    (input) => {
      done.push(input as Json)
      return { slot: done.length }
    },
  )
  const given = await givenHost({ capabilities: [release], policies: [askingPolicy(terms)], ...more }, { clock })
  const planner = await given.caller({ id: 'planner', kind: 'agent' })
  const people = new Map<string, CallCaller>()
  return {
    ...given,
    clock,
    planner,
    done,
    person: async (id, wish = pharmacist) => {
      const known = people.get(id) ?? (await given.caller({ id, kind: 'user' }))
      people.set(id, known)
      await addApprover(given.ambit, operator(given.host.tenant), { principal: id, ...wish })
      return known
    },
    ask: (asked = payload, envelope = {}) =>
      given.call(planner, {
        capability_id: 'depot.release',
        invocation_id: 'inv-1',
        correlation: { correlation_id: 'task' },
        payload: asked,
        ...envelope,
      }),
    decide: (id, by, decision) => {
      const subject = people.get(by)?.subject ?? { id: by, verified: true }
      const wish = typeof decision === 'string' ? ({ decision } as Decision) : decision
      return given.host.gateway.decide(id, { principal: by, subject }, wish)
    },
    request: async (id) => (await given.ambit.store.read(() => approvalRecords.get(given.host.tenant, id))).request,
    grant: (request, signer, fields = {}) =>
      signGrant(
        {
          approval_id: request.approval_id,
          invocation_id: request.invocation_id,
          payload_commitment: request.payload_commitment,
          invocation_digest: request.invocation_digest,
          audience: given.host.hostId,
          max_attempts: 1,
          valid_until: request.expires_at,
          ...fields,
        },
        signer,
      ) as unknown as Json,
  }
}

/** The id of the request that a denial names. */
export function approvalIdOf({ denial }: { denial?: { details?: object | undefined } | null | undefined }): string {
  const id = (denial?.details as { approval_id?: unknown } | undefined)?.approval_id
  assert(typeof id === 'string', 'no approval was asked for')
  return id
}
