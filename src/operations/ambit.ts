// The public interface, written by hand so that an editor shows words and named types. The compiler holds the table of
// operations to it: `createAmbit` in this process and `connect` to another both answer it.

import type { Json } from '../base/canonical.ts'
import type { ApprovalRequest, Approver } from '../model/approval.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { CompiledContext } from '../model/contract/compiled.ts'
import type { DecisionRecord } from '../model/contract/decision.ts'
import type { ArtifactRecord, PackRecord, PackReport } from '../model/contract/registry.ts'
import type { ComparedDecision, ReplayReport } from '../model/contract/replay.ts'
import type { InvokeRequest, TrustedContext } from '../model/contract/request.ts'
import type { RunExport } from '../model/contract/run-export.ts'
import type { Checkpoint, EvidenceBundle, EvidenceEvent, KeyRotation } from '../model/evidence.ts'
import type { Revocation } from '../model/grant.ts'
import type { ApiKey, IssuedKey } from '../model/identity/key.ts'
import type { Principal } from '../model/identity/principal.ts'
import type { Tenant } from '../model/identity/tenant.ts'
import type {
  AgentSummary,
  EraseReceipt,
  Explanation,
  InvokeAnswer,
  MemoryEntry,
  PurgeReport,
  RevocationReport,
  RunExplanation,
} from '../model/requests.ts'
import type { RunEvent, RunLimits, RunRecord } from '../model/run.ts'
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

export interface RunOptions {
  /** The namespace paths that the run may touch. Over HTTP and on a command line this needs the right to mint. */
  context?: (string | { path: string; expiresAt: string | null })[]
  /** The conversation that it goes on with. */
  sessionId?: string
  /** Buckets of shared text that its prompt shows. They grant nothing. */
  contextIds?: string[]
  /** Facts for agents that are code. */
  toolContext?: Payload
  /** The same id again starts no second run. */
  requestId?: string
  /** Fifty calls and an hour of active time unless said; cost only where the price of the model is configured. */
  limits?: RunLimits
}

/** One run to follow. */
export interface Run {
  readonly id: string
  /** Its events and those of all runs below it, until it has ended; from the first, or after an `event_id`. */
  events(options?: { since?: number }): AsyncIterable<RunEvent>
  /** The record of the run once it has ended, however it ended: look at `status`. */
  result(): Promise<RunRecord>
  /** The record once the run has ended, or waits for people. */
  settled(): Promise<RunRecord>
  cancel(): Promise<RunRecord>
}

export interface RunFilter {
  root?: string
  agent?: string
  status?: RunRecord['status']
  /** From this time on, such as `2026-01-31T08:00:00Z`, or an age such as `7d`. */
  since?: string
  until?: string
  /** Runs with a grant at or below this path. */
  grant?: string
}

export interface Runs {
  start(agent: string, input?: Json, options?: RunOptions): Promise<RunRecord>
  /** Runs, newest first: your own, or all with the right to audit. */
  list(query?: RunFilter & PageOptions): Promise<Page<'runs', RunRecord>>
  show(id: string): Promise<RunRecord>
  events(id: string, options?: { since?: number }): AsyncIterable<RunEvent>
  /** Why its model was not shown a tool, a text was left out of its prompt, a call of it was refused: from the record. */
  explain(id: string): Promise<RunExplanation>
  /** What a run that context packs drive leaves behind: bundle, every version of its record, approvals; it verifies offline. */
  export(id: string): Promise<RunExport>
  /** Ends a run and all below it. */
  cancel(id: string): Promise<RunRecord>
  /** Takes a run up now that waits, or that its process has left. */
  resume(id: string): Promise<RunRecord>
}

export interface Agents {
  list(): Promise<{ agents: AgentSummary[] }>
}

export interface Grants {
  /** Ends a grant, all grants of a run or a subject, or all at or below a path: no call starts under them any more. */
  revoke(
    by: Revocation['by'],
    target: string,
    options?: { reason?: string; cancel?: boolean },
  ): Promise<RevocationReport>
}

/** What providers keep, for those who run agents. `collection` is the kind of the provider, `memory` unless said. */
export interface Memory {
  /** The entries of exactly one scope, newest first: those that were superseded or forgotten as well. */
  list(
    scope: string,
    query?: PageOptions & { collection?: string },
  ): Promise<Page<'entries', Omit<MemoryEntry, 'history'>>>
  read(id: string, options?: { collection?: string }): Promise<MemoryEntry>
  /** Takes one entry out of every reading; it stays on record until its scope is erased. */
  forget(id: string, options?: { collection?: string; reason?: string }): Promise<MemoryEntry>
  /** Removes what all providers keep in a scope, for good; with `recursive` also what lies below it. */
  erase(scope: string, options?: { recursive?: boolean; reason?: string }): Promise<EraseReceipt>
}

export interface CompileOptions {
  /** What trusted code says beside the request: it needs the right to mint. */
  run_context?: TrustedContext
  /** `page` takes the examples of the source document, and surfaces reads alone. */
  profile?: 'strict' | 'page'
  /** Makes the fences of two compiles alike: 32 hex digits. */
  fence_seed?: string
}

export interface InvokeOptions {
  /** What trusted code says beside the request: it needs the right to mint. */
  run_context?: TrustedContext
  /** `page` takes the examples of the source document, and surfaces reads alone. */
  profile?: 'strict' | 'page'
}

export interface DecisionFilter {
  status?: DecisionRecord['status']
  /** From this time on, such as `2026-01-31T08:00:00Z`, or an age such as `7d`. */
  since?: string
  until?: string
}

/** How runs have decided. A record is named by its own id, or by that of its run. */
export interface Decisions {
  /** Records in their newest version, newest first: your own, or all with the right to audit. */
  list(query?: DecisionFilter & PageOptions): Promise<Page<'decisions', DecisionRecord>>
  show(id: string): Promise<DecisionRecord>
  /** Every version of one record, the first one first. */
  history(id: string): Promise<{ versions: DecisionRecord[] }>
}

export interface CompareFilter {
  /** A version that is published, such as `ctxpack.desk@1.3.0`. */
  pack?: string
  /** In place of it a pack that is neither published nor signed yet. */
  document?: unknown
  /** From this time on, such as `2026-01-31T08:00:00Z`, or an age such as `7d`. */
  since?: string
  until?: string
}

/** Decides recorded runs again, from their records alone and without any effect. */
export interface Replay {
  /** Whether a run comes to the same again, and if not, where it first differs. */
  run(id: string): Promise<ReplayReport>
  /** What the recorded runs of a pack would have come to with another version of it, newest first. */
  compare(query: CompareFilter & PageOptions): Promise<Page<'decisions', ComparedDecision>>
}

export interface PackOptions {
  /** Published versions that its references may lead to, such as `decision-catalog.desk@1.0.0`. */
  beside?: string[]
}

/** Context packs and catalogs of the tenant, each version for good. */
export interface Packs {
  /** Everything that is wrong with a pack, each with its place. */
  validate(document: unknown, options?: PackOptions): Promise<PackReport>
  /** The pack with the signature of the tenant. */
  sign(document: unknown): Promise<{ document: Json }>
  publish(document: unknown, options?: PackOptions): Promise<PackRecord>
  list(options?: PageOptions): Promise<Page<'packs', Omit<PackRecord, 'document'>>>
  show(ref: string): Promise<PackRecord>
}

/** Bytes of the tenant that requests name as attachments. */
export interface Artifacts {
  add(artifact: {
    media_type: string
    content: string
    encoding?: 'utf8' | 'base64'
    id?: string
    name?: string
  }): Promise<ArtifactRecord>
  list(options?: PageOptions): Promise<Page<'artifacts', ArtifactRecord>>
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
  /** What a run of this request would be given, with what was left out and why: nothing runs. */
  compile(request: InvokeRequest, options?: CompileOptions): Promise<CompiledContext>
  /** Plans, acts, judges and records: in mode `batch` it answers once the run has ended or waits for people, else at once. */
  invokeAgent(request: InvokeRequest, options?: InvokeOptions): Promise<InvokeAnswer>
  /** Starts a run of an agent, to be followed. */
  run(agent: string, input?: Json, options?: RunOptions): Promise<Run>
  readonly agents: Agents
  readonly runs: Runs
  readonly grants: Grants
  readonly decisions: Decisions
  readonly replay: Replay
  readonly packs: Packs
  readonly artifacts: Artifacts
  readonly memory: Memory
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
