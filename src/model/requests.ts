import { z } from 'zod'
import { limits } from '../base/limits.ts'
import { approvalState, approver } from './approval.ts'
import { profile } from './contract/context.ts'
import { decisionRecord, memoryProposal, recordStatus } from './contract/decision.ts'
import { artifactRecord, packRecord } from './contract/registry.ts'
import { comparisonQuery, replayShapes } from './contract/replay.ts'
import { invokeRequest, runMode, trustedContext } from './contract/request.ts'
import { type Entry, gives, takes } from './entry.ts'
import { checkpoint, evidenceEvent, outcome, publicKey } from './evidence.ts'
import { grantPath, revocation } from './grant.ts'
import { apiKey } from './identity/key.ts'
import { permission, principal, principalKind } from './identity/principal.ts'
import { tenantIdText } from './identity/tenant.ts'
import { jsonObject, jsonValue } from './json.ts'
import { runLimits, runRecord, runStatus } from './run.ts'
import { runId, traceId } from './run-id.ts'
import { capabilityId, capabilityScope, duration, form, id, line, minted, prose } from './text.ts'
import { environment, wireId } from './wire/correlation.ts'
import { next, wireShapes } from './wire/wire.ts'

const page = { limit: z.int().min(1).max(limits.pageRowsMax).optional(), cursor: z.string().max(1_024).optional() }

const moment = form(
  /^(?:[1-9][0-9]{0,5}[smhd]|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,18}(?:Z|[+-][0-9]{2}:[0-9]{2}))$/u,
  'a time such as `2026-01-31T08:00:00Z`, or an age such as `7d`',
)
const approvalId = minted('apr')
const apiKeyId = minted('key')

/** What a provider keeps, in whatever state it is. */
const storedEntry = z.strictObject({
  collection: z.string().describe('The kind of the provider that keeps it.'),
  entry_id: z.string(),
  scope: z.string().describe('The path it lies at.'),
  state: z.enum(['active', 'superseded', 'forgotten']),
  content: z.string(),
  /** Null in a log: there equal entries stay, and are not looked up by words. */
  content_hash: z.string().nullable(),
  topics: z.array(z.string()),
  body: jsonObject,
  agent_id: z.string(),
  run_id: z.string().describe('The run that wrote it.'),
  created_at: z.string(),
  updated_at: z.string(),
  /** The entry that superseded it. */
  replaced_by: z.string().nullable(),
  expires_at_ms: z.number().nullable(),
})
export type StoredEntry = z.infer<typeof storedEntry>

/** A provider's kind; what is listed, read or forgotten is memory unless another is named. */
const collection = line.optional()
/** Whether it is a path is said when it is used, by its own code. */
const scope = z.string().max(1_024)

const heldGrant = z.strictObject({ grant_id: z.string(), path: grantPath, run_id: z.string() })

const agentSummary = z.strictObject({
  id: z.string(),
  version: z.string(),
  kind: z.enum(['llm', 'tool', 'sequential', 'parallel']),
  description: z.string().nullable(),
  tools: z.array(z.string()),
  resources: z.array(z.strictObject({ name: z.string(), kind: z.string(), mode: z.string() })),
})
export type AgentSummary = z.infer<typeof agentSummary>

/** What operations take and answer. */
export const requests = {
  'page-request': takes('Asks for one page of a list.', page),
  'no-input': takes('Takes nothing.', {}),
  'call-name': takes('Names one call.', { id: wireId }),
  'approval-name': takes('Names one approval.', { id: approvalId }),
  'capability-name': takes('Names one capability.', { id: capabilityId }),
  'event-name': takes('Names one event.', { id: wireId }),
  'correlation-name': takes('Names one correlation.', { correlation: wireId }),
  'principal-name': takes('Names one principal.', { id }),
  'key-name': takes('Names one API key.', { id: apiKeyId }),
  'tenant-name': takes('Names one tenant.', { id: tenantIdText }),
  'approval-query': takes('Asks for approvals, `pending` ones unless another state is given.', {
    state: approvalState.optional(),
    ...page,
  }),
  'approval-decision-request': takes('A yes or no to one request; an edit is a yes to another payload.', {
    ...wireShapes['approval-decision'][1].shape,
    id: approvalId,
  }),
  'approval-watch': takes('Asks to hear of approvals as they come: from now on, or first of those that wait.', {
    pending: z.boolean().optional(),
  }),
  /** The same `id` never takes effect twice; `context` has facts that are in no payload. */
  'call-request': takes('One call of a capability.', {
    capability: z.string().max(256),
    payload: jsonObject.optional(),
    id: wireId.optional(),
    purpose: line.optional(),
    correlation: wireId.optional(),
    environment: environment.optional(),
    context: jsonObject.optional(),
  }),
  /** What is wrong with `context`, `contextIds` or `sessionId` is said when the run is to start. */
  'run-request': takes('Starts a run of an agent. Naming grants needs the right to mint.', {
    agent: z.string().max(256),
    input: jsonValue.optional(),
    context: z.unknown().optional(),
    sessionId: z.string().max(1_024).optional(),
    contextIds: z.array(z.string().max(1_024)).optional(),
    toolContext: jsonObject.optional(),
    requestId: id.optional(),
    limits: runLimits.optional(),
  }),
  'run-name': takes('Names one run.', { id: wireId }),
  'run-explanation': gives('Why a run was given no more than it was, from what is on record of it.', {
    run_id: runId,
    agent: z.string(),
    status: runStatus,
    error: runRecord.shape.error,
    hidden: runRecord.shape.surface.shape.hidden.describe('Tools that its model was not shown, and why.'),
    dropped: runRecord.shape.warnings.describe('What was left out of its prompt, and why.'),
    refused: z
      .array(
        z.strictObject({
          call_id: z.string(),
          tool: z.string(),
          status: z.string(),
          code: z.string(),
          message: z.string(),
          rule: z.string().nullable().describe('What refused it, as its record in evidence names it.'),
        }),
      )
      .describe('Calls that came to nothing, in their order.'),
  }),
  'run-control': takes('Ends a run and all runs below it.', { id: wireId, control: z.literal('cancel').optional() }),
  'run-watch': takes('Asks for the events of one run: all, or those after a number.', {
    id: wireId,
    since: z.int().min(0).optional(),
  }),
  /** `since` is included, `until` is not; `grant` finds runs with a grant at or below that path. */
  'run-query': takes('Searches runs.', {
    root: wireId.optional(),
    agent: wireId.optional(),
    status: runStatus.optional(),
    since: moment.optional(),
    until: moment.optional(),
    grant: z.string().max(1_024).optional(),
    ...page,
  }),
  'run-list': gives('Runs, newest first: your own, or all with the right to audit.', {
    runs: z.array(runRecord),
    next,
  }),
  /** `profile` is `strict` unless said; `fence_seed` makes the fences of two compiles alike. */
  'compile-request': takes('Compiles what a run would be given, and runs nothing.', {
    request: invokeRequest,
    run_context: trustedContext.optional(),
    profile: profile.optional(),
    fence_seed: form(/^[0-9a-f]{32}$/u, '32 hex digits').optional(),
  }),
  'invoke-agent-request': takes('Plans, acts, judges and records one request of an agent.', {
    request: invokeRequest,
    run_context: trustedContext.optional(),
    profile: profile.optional(),
  }),
  'invoke-answer': gives('The run of a request, with its decision record as it stands.', {
    run_id: runId,
    trace_id: traceId,
    session_id: z.string().optional(),
    mode: runMode,
    status: runStatus,
    decision_record: decisionRecord.nullable().describe('Null only for a run that is not compiled.'),
    memory_proposals: z.array(memoryProposal),
    waits_for: z.array(z.string()).describe('Approvals that it waits for.'),
    events: z.string().describe('Where its events are followed.'),
    heartbeat_ttl_ms: z.int().optional(),
    checkpoint_id: z.string().optional(),
  }),
  'decision-query': takes('Narrows a list of decisions.', {
    status: recordStatus.optional(),
    since: moment.optional(),
    until: moment.optional(),
    ...page,
  }),
  'decision-list': gives('Decision records in their newest version, newest first.', {
    decisions: z.array(decisionRecord),
    next,
  }),
  'decision-name': takes('Names one decision record, or the run that it is of.', { id: wireId }),
  'decision-history': gives('Every version of one decision record, the first one first.', {
    versions: z.array(decisionRecord),
  }),
  ...replayShapes,
  'comparison-request': takes('Decides recorded runs again with another version of one of their packs.', {
    ...comparisonQuery,
    since: moment.optional(),
    until: moment.optional(),
    ...page,
  }),
  'pack-request': takes('One context pack or catalog.', {
    document: z.unknown(),
    /** Versions that are published already, to resolve its references with. */
    beside: z.array(z.string().max(256)).max(16).optional(),
  }),
  'pack-document': gives('A context pack or catalog with the signature of its tenant.', { document: jsonValue }),
  'pack-name': takes('Names one version of a pack.', { ref: z.string().max(256) }),
  'pack-list': gives('Versions of packs and catalogs, by name.', {
    packs: z.array(packRecord.omit({ document: true })),
    next,
  }),
  /** `content` is text unless `encoding` says otherwise. */
  'artifact-request': takes('Puts bytes under the tenant, to be named as an attachment.', {
    media_type: line,
    content: z.string().max(limits.blobBytesMax),
    encoding: z.enum(['utf8', 'base64']).optional(),
    id: form(/^art_[A-Za-z0-9_]{1,120}$/u, '`art_` and letters, digits or _').optional(),
    name: line.optional(),
  }),
  'artifact-list': gives('The artefacts of the tenant.', { artifacts: z.array(artifactRecord), next }),
  'agent-list': gives('The agents that are here.', { agents: z.array(agentSummary) }),
  /** `cancel` ends the runs too that hold what is revoked. */
  'revocation-request': takes('Ends a grant, all grants of a run or a subject, or all at or below a path.', {
    by: revocation.shape.by,
    target: line,
    reason: prose.optional(),
    cancel: z.boolean().optional(),
  }),
  /** `ancestors_left` are live grants above a revoked path: they still cover it. */
  'revocation-report': gives('What a revocation has ended, of runs that have not ended.', {
    by: revocation.shape.by,
    target: line,
    ended: z.array(heldGrant),
    ancestors_left: z.array(heldGrant),
    cancelled: z.array(z.string()),
  }),
  'memory-query': takes('Lists what is remembered in exactly one scope.', { scope, collection, ...page }),
  'memory-list': gives('What is remembered in one scope, newest first; superseded and forgotten entries as well.', {
    entries: z.array(storedEntry),
    next,
  }),
  'memory-name': takes('Names one entry.', { id, collection }),
  'memory-entry': gives('One entry, with what was done with it and by whom.', {
    ...storedEntry.shape,
    history: z.array(jsonObject),
  }),
  'memory-forget-request': takes('Takes one entry out of every reading; it stays on record until an erase.', {
    id,
    collection,
    reason: prose.optional(),
  }),
  'erase-request': takes('Removes what all providers keep in a scope, for good.', {
    scope,
    recursive: z.boolean().optional(),
    reason: prose.optional(),
  }),
  /** `partial` where a provider failed: those are in `failed`, and the erase is to be repeated. */
  'erase-receipt': gives('What was erased, without a word of it.', {
    receipt_id: minted('rcpt'),
    tenant_id: tenantIdText,
    scope: z.string(),
    recursive: z.boolean(),
    status: z.enum(['complete', 'partial']),
    by_resource: z.record(z.string(), z.record(z.string(), z.int().min(0))),
    failed: z.array(z.string()),
    ids_digest: z.string(),
    by: z.string(),
    at: z.string(),
    evidence_ref: z.string(),
  }),
  /** `since` is included, `until` is not. */
  'evidence-query': takes('Searches events.', {
    correlation: wireId.optional(),
    subject: wireId.optional(),
    capability: wireId.optional(),
    outcome: outcome.optional(),
    type: wireId.optional(),
    since: moment.optional(),
    until: moment.optional(),
    ...page,
  }),
  'evidence-list': gives('Events, newest first.', { events: z.array(evidenceEvent), next }),
  /** `preview` changes nothing. */
  'purge-request': takes('Removes whole correlations for good; signed heads still hold.', {
    correlation: wireId.optional(),
    before: moment.optional(),
    indeterminate: z.boolean().optional(),
    preview: z.boolean().optional(),
  }),
  'purge-report': gives('What was purged, or would be, and what stays though it is old enough.', {
    purged: z.boolean(),
    correlations: z.int().min(0),
    events: z.int().min(0),
    kept: z.array(z.strictObject({ correlation: wireId, reason: z.string() })),
  }),
  'head-list': gives('The signed heads of the log, newest first.', { heads: z.array(checkpoint), next }),
  'principal-request': takes('Adds a person, service, agent or automation.', {
    id,
    kind: principalKind.optional(),
    display: line.optional(),
    roles: z.array(id).optional(),
    permissions: z.array(permission).optional(),
  }),
  'permission-request': takes('Gives or takes one permission.', { id, permission }),
  'principal-list': gives('The principals of the tenant.', { principals: z.array(principal), next }),
  'key-request': takes('Makes an API key for a principal. Its secret is in the answer and nowhere else.', {
    principal: id,
    name: line.optional(),
    scopes: z.array(capabilityScope).optional(),
    expires: duration.optional(),
  }),
  'key-rotation-request': takes('Replaces an API key; the old one works on for `grace`.', {
    id: apiKeyId,
    grace: duration.optional(),
  }),
  'key-list': gives('The API keys of the tenant, never their secrets.', {
    keys: z.array(apiKey.omit({ secret_hash: true })),
    next,
  }),
  'key-end': gives('That an API key has ended.', { key_id: apiKeyId, revoked: z.literal(true) }),
  'approver-request': takes('Lets a person decide about calls that ask for one of these roles.', {
    principal: id,
    roles: z.array(id).min(1),
    key: publicKey.optional(),
    expires: duration.optional(),
  }),
  'approver-list': gives('The approvers of the tenant.', { approvers: z.array(approver), next }),
  'approver-end': gives('That an approver decides about nothing any more.', {
    approver_id: id,
    revoked: z.literal(true),
  }),
  'secret-request': takes('Keeps a secret, to be used by its handle.', {
    name: line,
    value: z.string().min(1).max(limits.secretBytesMax),
  }),
  'secret-name': takes('Names one secret.', { name: line }),
  'kept-secret': gives('A secret by its handle, never its value.', { name: line, handle: z.string() }),
  'secret-list': gives('The names of the secrets, never their values.', {
    secrets: z.array(z.strictObject({ name: line, created_at: z.string() })),
  }),
  'secret-end': gives('That a secret is gone.', { name: line, removed: z.literal(true) }),
  'tenant-rotation-request': takes(
    'Gives a tenant a new signing key, which the old one vouches for; `revoke` ends trust in the old one.',
    { id: tenantIdText, revoke: z.boolean().optional() },
  ),
  explanation: gives('Why one call ended as it did, from its record.', {
    invocation_id: wireId,
    capability_id: wireId,
    correlation_id: wireId,
    outcome: outcome.nullable(),
    at: z.string(),
    subject: z.string().nullable(),
    policy: z.strictObject({ name: line, version: line, state: z.string() }).nullable(),
    decision: z.string().nullable(),
    rules: z.array(
      z.strictObject({ gate: z.string(), rule: z.string(), effect: z.string(), reads: z.array(z.string()) }),
    ),
    context: z.array(z.strictObject({ name: z.string(), state: z.string(), shown: z.string() })),
    approvers: z.array(z.strictObject({ name: z.string(), role: z.string() })),
    run: z
      .strictObject({ grants: z.array(z.string()), mode: z.string().nullable(), scopes: z.array(z.string()) })
      .nullable()
      .describe('For a call of a run: the paths it was made under, and those it touched.'),
    denied_by: z.string().nullable(),
    denial: z.strictObject({ code: z.string(), message: z.string(), next: z.string().nullable() }).nullable(),
    error: z.strictObject({ type: z.string(), code: z.string().nullable(), effect: z.string().nullable() }).nullable(),
    sentence: prose,
  }),
} satisfies Record<string, Entry>

export type InvokeAnswer = z.infer<(typeof requests)['invoke-answer'][1]>
export type RunRequest = z.infer<(typeof requests)['run-request'][1]>
export type RevocationReport = z.infer<(typeof requests)['revocation-report'][1]>
export type MemoryEntry = z.infer<(typeof requests)['memory-entry'][1]>
export type EraseReceipt = z.infer<(typeof requests)['erase-receipt'][1]>
export type CallRequest = z.infer<(typeof requests)['call-request'][1]>
export type RunExplanation = z.infer<(typeof requests)['run-explanation'][1]>
export type Explanation = z.infer<(typeof requests)['explanation'][1]>
export type PurgeReport = z.infer<(typeof requests)['purge-report'][1]>
