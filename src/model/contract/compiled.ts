// What a run is given: the compiled context, field for field, and the facts it was made from.

import { z } from 'zod'
import { jsonObject, jsonValue } from '../json.ts'
import { runError } from '../run-id.ts'
import { bucket, bucketTokens, tier } from './context.ts'

const count = z.int().min(0)
const texts = z.array(z.string())

const block = z.strictObject({
  block_id: z.string(),
  bucket,
  content: z.string(),
  priority: z.int(),
  provenance_refs: texts.optional(),
  truncated: z.boolean().optional(),
})

export const hiddenReason = z.enum([
  ...([
    'not_registered',
    'no_permission',
    'grant_missing',
    'no_allow_rule',
    'prohibited',
    'above_safety_mode',
  ] as const),
  ...(['claim_unverified', 'adapter_unavailable', 'resource_ceiling', 'resource_read_only', 'not_exposed'] as const),
])
export type HiddenReason = z.infer<typeof hiddenReason>

const capabilityMetadata = z.strictObject({
  kind: z.enum(['read', 'write']),
  risk_level: z.enum(['read', 'write_reversible', 'write_irreversible']),
  approval_mode: tier,
  source: z.enum(['adapter_registry', 'mcp', 'openapi', 'host']),
})
export type CapabilityTier = z.infer<typeof capabilityMetadata>

const toolManifest = z.strictObject({
  adapter_id: z.string(),
  capabilities: texts,
  constraints: jsonObject.optional(),
  capability_metadata: z.record(z.string(), capabilityMetadata).optional(),
})

export const omission = z.strictObject({
  block_id: z.string(),
  bucket,
  reason: z.enum(['over_budget', 'cut', 'foreign_tenant', 'stale', 'hash_mismatch', 'outside_grants', 'not_promoted']),
  tokens: count,
  priority: z.int(),
  source_refs: texts,
})
export type Omission = z.infer<typeof omission>

export const stageNames = [
  ...(['intent', 'policy', 'tools', 'evidence', 'memory', 'budget', 'buckets', 'manifests'] as const),
] as const
export type StageName = (typeof stageNames)[number]

const perBucket = <T extends z.ZodType>(value: T) =>
  z
    .strictObject({ policy: value, tool: value, evidence: value, memory: value, business: value, session: value })
    .partial()
const hash = z.string()
const stageHashes = z.strictObject({
  ...{ intent: hash, policy: hash, tools: hash, evidence: hash, memory: hash, budget: hash, buckets: hash },
  manifests: hash,
})

export const budgetReport = z.strictObject({
  tokens_allocated: bucketTokens,
  tokens_used_at_compile: count,
  tokens_used_by_bucket: bucketTokens,
  bucket_truncations: perBucket(z.literal(true)),
  dropped_block_ids: perBucket(texts),
  warnings: texts,
})

export const compiledContext = z.strictObject({
  compiled_prompt: z.strictObject({
    system: z.string(),
    developer: z.string(),
    task: z.string(),
    context_blocks: z.array(block),
  }),
  manifests: z.strictObject({
    policy_manifest: z.array(z.strictObject({ bundle_id: z.string(), rule_ids: texts })),
    tool_manifest: z.array(toolManifest),
    evidence_manifest: z.array(
      z.strictObject({ evidence_ref: z.string(), source_id: z.string().optional(), hash: z.string().optional() }),
    ),
    trace_context: z.strictObject({ traceparent: z.string(), tracestate: z.string(), baggage: z.string() }),
  }),
  runtime_controls: z.strictObject({
    must_refuse: texts,
    must_escalate: texts,
    approval_gates_active: texts,
    redaction_rules_active: texts,
  }),
  budget_report: budgetReport,
  context_ledger: z.strictObject({
    pack_ref: z.string(),
    request_id: z.string(),
    policy_bundles: texts,
    tools: texts,
    evidence_refs: texts,
    memory_refs: texts,
    budget: z.strictObject({ tokens_used_at_compile: count, truncated_buckets: z.array(bucket) }),
    compiled_context_hash: z.string(),
    ambit: z.strictObject({
      refs: z.array(z.strictObject({ ref: z.string(), hash: z.string() })),
      stage_hashes: stageHashes,
      content_hash: z.string(),
      hidden: z.array(z.strictObject({ capability_id: z.string(), reason: hiddenReason })),
      omissions: z.array(omission),
      estimator: z.string(),
      snapshot_version: z.string(),
      warnings: z.array(runError),
    }),
  }),
})
export type CompiledContext = z.infer<typeof compiledContext>

/** A referenced statement that rules may read by its key. */
export const evidenceFact = z.strictObject({
  evidence_ref: z.string(),
  key: z.string().optional(),
  value: jsonValue,
  tenant_id: z.string(),
  authority: z.enum(['authoritative', 'verified', 'asserted', 'untrusted']),
  observed_at: z.string(),
  expires_at: z.string().optional(),
  hash: z.string(),
  /** Of an attachment: that of its bytes, bare hex. */
  bytes_hash: z.string().optional(),
  conflicts: texts.optional(),
  resolution_ref: z.string().optional(),
  consent_ref: z.string().optional(),
})
export type EvidenceFact = z.infer<typeof evidenceFact>
