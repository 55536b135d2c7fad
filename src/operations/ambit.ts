// The public interface, written by hand so that an editor shows words and named types. The compiler holds the table of
// operations to it: `createAmbit` in this process and `connect` to another both answer it.

import type { Json } from '../base/canonical.ts'
import type { ApprovalRequest, Approver } from '../model/approval.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { Checkpoint, EvidenceBundle, EvidenceEvent, KeyRotation } from '../model/evidence.ts'
import type { ApiKey, IssuedKey } from '../model/identity/key.ts'
import type { Principal } from '../model/identity/principal.ts'
import type { Tenant } from '../model/identity/tenant.ts'
import type { Explanation, PurgeReport } from '../model/requests.ts'
import type { IdentityDocument } from '../model/wire/host.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import type { CallPreview } from '../model/wire/wire.ts'

export type Payload = { readonly [member: string]: Json }

export interface CallOptions {
  /** The id of this call: the same id never takes effect twice. */
  id?: string
  /** Why the call is made. */
  purpose?: string
  /** The task it belongs to; one of its own unless given. */
  correlation?: string
  environment?: 'dev' | 'test' | 'pilot' | 'prod'
  /** Facts that are in no payload. */
  context?: Payload
}

export interface PageOptions {
  limit?: number
  /** Where the page before ended: its `next`. */
  cursor?: string
}

/** One page: under the name of what it lists, with `next` when there may be more. */
export type Page<Name extends string, T> = { [N in Name]: T[] } & { next?: string | undefined }

export interface Invocations {
  /** The recorded result of a call of your own; `call.in_progress` while it runs. */
  show(id: string): Promise<InvocationResult>
}

export interface Capabilities {
  /** What you may call, and what its policy says before you do. */
  list(): Promise<{ capabilities: CapabilityDescriptor[] }>
  /** One capability, every version of it. */
  show(id: string): Promise<{ capabilities: CapabilityDescriptor[] }>
}

export interface Approvals {
  /** The requests that wait for you, newest first. */
  list(query?: PageOptions & { state?: ApprovalRequest['state'] }): Promise<Page<'approvals', ApprovalRequest>>
  show(id: string): Promise<ApprovalRequest>
  /** A yes or no to one exact call. An edit is a yes to another `payload`: a new request takes the place of this one. */
  decide(
    id: string,
    decision: 'approve' | 'deny' | 'edit',
    options?: { rationale?: string; payload?: Payload; grant?: Payload },
  ): Promise<ApprovalRequest>
  /** New requests as they come; with `pending` those that wait already come first. */
  watch(options?: { pending?: boolean }): AsyncIterable<ApprovalRequest>
}

export interface EvidenceFilter {
  correlation?: string
  subject?: string
  capability?: string
  outcome?: InvocationResult['outcome']
  type?: string
  /** From this time on, such as `2026-01-31T08:00:00Z`, or an age such as `7d`. */
  since?: string
  until?: string
}

export interface Evidence {
  /** Searches events, newest first. */
  list(query?: EvidenceFilter & PageOptions): Promise<Page<'events', EvidenceEvent>>
  show(eventId: string): Promise<EvidenceEvent>
  /** Everything of one correlation as a signed bundle that verifies offline. */
  export(correlation: string): Promise<EvidenceBundle>
  /** The signed heads of the log, newest first. */
  heads(options?: PageOptions): Promise<Page<'heads', Checkpoint>>
  /** Removes whole correlations for good; with `preview` it only says what would go. */
  purge(wish: {
    correlation?: string
    before?: string
    indeterminate?: boolean
    preview?: boolean
  }): Promise<PurgeReport>
}

export interface Principals {
  create(
    id: string,
    options?: { kind?: Principal['kind']; display?: string; roles?: string[]; permissions?: string[] },
  ): Promise<Principal>
  list(options?: PageOptions): Promise<Page<'principals', Principal>>
  permit(id: string, permission: string): Promise<Principal>
  withdraw(id: string, permission: string): Promise<Principal>
  /** One new API key; all others of the principal end. */
  rotate(id: string): Promise<IssuedKey>
  revoke(id: string): Promise<Principal>
}

export interface Keys {
  /** The secret is in the answer and nowhere else. `expires` is a duration such as `90d`. */
  create(principal: string, options?: { name?: string; scopes?: string[]; expires?: string }): Promise<IssuedKey>
  list(options?: PageOptions): Promise<Page<'keys', Omit<ApiKey, 'secret_hash'>>>
  rotate(id: string, options?: { grace?: string }): Promise<IssuedKey>
  revoke(id: string): Promise<{ key_id: string; revoked: true }>
}

export interface Approvers {
  /** With `key`, their own Ed25519 public key, only what they sign counts as a yes. */
  add(principal: string, options: { roles: string[]; key?: string; expires?: string }): Promise<Approver>
  list(options?: PageOptions): Promise<Page<'approvers', Approver>>
  revoke(principal: string): Promise<{ approver_id: string; revoked: true }>
}

export interface Secrets {
  /** Keeps a value; capabilities and upstreams use it by its handle, `secret:<name>`. */
  set(name: string, value: string): Promise<{ name: string; handle: string }>
  list(): Promise<{ secrets: { name: string; created_at: string }[] }>
  remove(name: string): Promise<{ name: string; removed: true }>
}

export interface Tenants {
  /** The public identity document, for those who verify. */
  identity(id: string): Promise<IdentityDocument>
  /** A new signing key; the old one vouches for it. `revoke` lists the old one as no longer to be believed. */
  rotate(id: string, options?: { revoke?: boolean }): Promise<KeyRotation>
  /** Suspends a tenant: none of its keys opens anything. */
  revoke(id: string): Promise<Tenant>
  resume(id: string): Promise<Tenant>
}

/** Everything a caller can do with one Ambit, in this process or behind an address. */
export interface Operable {
  /** Calls one capability through the gateway. A refusal is a result, not an error. */
  call(capability: string, payload?: Payload, options?: CallOptions): Promise<InvocationResult>
  /** What would be decided about a call now: no effect, no evidence. */
  preview(capability: string, payload?: Payload, options?: CallOptions): Promise<CallPreview>
  /** Why one call ended as it did, from its record: by the id of the call or of one of its events. */
  explain(id: string): Promise<Explanation>
  readonly invocations: Invocations
  readonly capabilities: Capabilities
  readonly approvals: Approvals
  readonly evidence: Evidence
  readonly principals: Principals
  readonly keys: Keys
  readonly approvers: Approvers
  readonly secrets: Secrets
  readonly tenants: Tenants
}

/** One Ambit to work with. */
export interface Ambit extends Operable {
  /** The same as the holder of this API key: with what that principal may do, and in its name. */
  withKey(key: string): Promise<Ambit>
  /** Ends what is open; calls under way go on to their end first. */
  close(): Promise<void>
}
