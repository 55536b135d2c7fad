import type { Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import { actionDigest, invocationDigest, type TenantDigest } from '../../evidence/digests.ts'
import { payloadCommitment } from '../../evidence/event.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Asked, Decided } from '../attempt.ts'
import { contextEntry } from '../events.ts'

export interface BindingDeps {
  readonly tenant: TenantId
  readonly hostId: string
  readonly digest: TenantDigest
}

export interface Binding {
  readonly payloadCommitment: string
  readonly actionDigest: string
  readonly invocationDigest: string
}

/**
 * What a yes is bound to: this caller, capability, input, policy and context. The nonce stays in the queue, so that
 * nobody can test guesses at a payload against the digest.
 */
export function bindingOf(
  { call, subject, capability, version, policy, context }: Asked & Pick<Decided, 'policy'>,
  nonce: string,
  deps: BindingDeps,
): Binding {
  const principal = { id: subject.id }
  const action = actionDigest({
    capability: { id: call.capabilityId, version: version ?? '' },
    principal,
    input: call.payload as Json,
    semantic_context: {},
  })
  const snapshot = call.metadata['evidence_snapshot']
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
        descriptor: capability?.digest ?? null,
        policy: policy?.hash ?? null,
        context: objectHash(context.fields.map((field) => contextEntry(field, deps.digest)) as Json),
        evidence_snapshot: snapshot ?? null,
        nonce,
      },
    }),
  }
}
