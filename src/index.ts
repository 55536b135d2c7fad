// What `import 'ambit'` gives. Everything else is reached through a subpath or is our own.

export { canonical, type Json } from './base/canonical.ts'
export { Failure, type Problem, problem } from './base/failure.ts'
export type { FailureCode } from './base/failure-codes.ts'
export { objectHash } from './base/hash.ts'
export { type BundleReport, type VerifyOptions, verifyBundle } from './evidence/verify/verify.ts'
export {
  type CallContext,
  type Capability,
  type CapabilitySpec,
  defineCapability,
  type Handler,
  type InterruptedCall,
  type Reconciled,
} from './gateway/capability.ts'
export type { Resolver, SafetyEvaluator, SafetyVerdict } from './gateway/deps.ts'
export type { Gateway } from './gateway/gateway.ts'
export type { SchemaLike, StandardSchema } from './gateway/schema-like.ts'
export { type AmbitOptions, createAmbit } from './library/create-ambit.ts'
export type { ApprovalGrant, ApprovalRequest, Approver, Vote } from './model/approval.ts'
export type { CapabilityDescriptor } from './model/capability.ts'
export type { Config } from './model/config/config.ts'
export type { ContextContract } from './model/context.ts'
export type { EvidenceBundle, EvidenceEvent } from './model/evidence.ts'
export type { Grant } from './model/grant.ts'
export type { ApiKey, IssuedKey } from './model/identity/key.ts'
export type { Principal } from './model/identity/principal.ts'
export type { Tenant } from './model/identity/tenant.ts'
export { type TenantId, tenantId } from './model/identity/tenant-id.ts'
export type { Policy } from './model/policy.ts'
export { jsonSchemaOf, listSchemas } from './model/schemas.ts'
export type { HostDescriptor, IdentityDocument } from './model/wire/host.ts'
export type { InvocationEnvelope, ReceivedEnvelope } from './model/wire/invocation.ts'
export type { Mandate, MandateRevocation } from './model/wire/mandate.ts'
export type { InvocationResult, ReplayQuery, ReplayResult } from './model/wire/result.ts'
export type * from './operations/ambit.ts'
export { defineProvider, type Provider } from './resources/define.ts'
export type { Entry, EntryQuery, EntryStore } from './resources/entry-store.ts'
export { files } from './resources/files.ts'
export { memory } from './resources/memory.ts'
export type { ProviderSpec, ProviderTool, Reach, ResourceToolContext, Touched } from './resources/provider.ts'
export { scratchpad } from './resources/scratchpad.ts'
export { type Agent, type AgentSpec, defineAgent } from './runtime/agents/agent.ts'
export { backUp, restore } from './runtime/evidence/backup.ts'
export { exportBundle, searchEvidence, showEvent } from './runtime/evidence/export.ts'
export { type PurgeOptions, type PurgeReport, type PurgeWish, purgeEvidence } from './runtime/evidence/purge.ts'
export { type EventInput, type Recorded, record } from './runtime/evidence/record.ts'
export { openConfiguredHost } from './runtime/hosting/configured-host.ts'
export { type AmbitHost, type CallCaller, openHost } from './runtime/hosting/host.ts'
export { makeOffer, type OfferSpec } from './runtime/hosting/offer.ts'
export {
  authenticate,
  issueKey,
  keysIn,
  type NewKey,
  renewKeys,
  revokeKey,
  rotateKey,
} from './runtime/identity/api-keys.ts'
export { addApprover, approversOf, type NewApprover, revokeApprover } from './runtime/identity/approvers.ts'
export { type Caller, callerOf, operator, type Right } from './runtime/identity/caller.ts'
export { createPrincipal, type NewPrincipal, principalsOf, revokePrincipal } from './runtime/identity/principals.ts'
export { removeSecret, secretsOf, setSecret } from './runtime/identity/secrets.ts'
export {
  allTenants,
  createTenant,
  identityOf,
  type NewTenant,
  rotateTenantKey,
  setTenantStatus,
} from './runtime/identity/tenants.ts'
export { type AgentCode, type AgentRun, CallRefused, type InvokeOptions } from './runtime/loop/code.ts'
export { openAmbit, type Runtime } from './runtime/runtime.ts'
export { loadSettings, type Settings } from './runtime/settings/config.ts'
export { type AmbitConfig, defineConfig, definePolicy } from './runtime/settings/user-config.ts'
// To run on a database of one's own: the driver port, and the contract that `ambit/testing` checks it against.
export { type Database, Duplicate } from './storage/database.ts'
export { type Commit, type Committed, openStore, type Store } from './storage/store.ts'
export type { Change, Row, Statement, Value, Work } from './storage/work.ts'
