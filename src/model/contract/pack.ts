// A context pack: ten layers that describe and narrow what an agent is given. It brings no code, address or secret.

import { z } from 'zod'
import { ownTime, signatureObject } from '../evidence.ts'
import { grantPath } from '../grant.ts'
import { tenantIdText } from '../identity/tenant.ts'
import { jsonObject, jsonValue } from '../json.ts'
import { capabilityId, form, line, prose } from '../text.ts'
import { bucketTokens, contractId, runBudget, tier } from './context.ts'

const names = z.array(contractId)
const version = form(/^(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}$/u, 'a version such as `1.2.3`')
const oneOrMore = z.union([contractId, names.min(1)])
const fraction = z.number().min(0).max(1)
const positive = z.int().min(1)

const contractMeta = z.strictObject({
  contract_name: line,
  contract_version: version,
  issuer: line,
  created_at: ownTime,
  compatibility: z.strictObject({ requires: z.record(line, line) }),
})

const packMeta = z.strictObject({
  pack_id: form(/^[a-z][a-z0-9-]*(?:\.[A-Za-z0-9_-]+)+$/u, 'a name such as `ctxpack.desk`').max(128),
  pack_version: version,
  tenant: tenantIdText,
  environment_defaults: z
    .strictObject({
      safety_mode: tier.optional(),
      safety_strict: z.boolean().optional(),
      run_budget: z
        .strictObject({ ...runBudget.shape, bucket_tokens: bucketTokens })
        .partial()
        .optional(),
      heartbeat_ttl_ms: positive.optional(),
    })
    .optional(),
  ttl_seconds: positive,
  data_classification: z.enum(['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'RESTRICTED']),
})

const argConstraint = z.strictObject({
  min: z.number().optional(),
  max: z.number().optional(),
  enum: z.array(jsonValue).optional(),
  required: z.boolean().optional(),
  pattern: z.string().max(512).optional(),
})
const argConstraints = z.record(line, argConstraint)

const rule = z.strictObject({
  rule_id: contractId,
  if: jsonValue,
  // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
  then: z.strictObject({
    allow: z.boolean(),
    approval_mode: tier.optional(),
    requires: names.optional(),
    prohibits: z.array(capabilityId).optional(),
    requires_approval_gate: contractId.optional(),
    arg_constraints: argConstraints.optional(),
    unless_approved: z.boolean().optional(),
  }),
  applies_to: z
    .strictObject({
      intent: oneOrMore.optional(),
      capability: z.union([capabilityId, z.array(capabilityId)]).optional(),
    })
    .optional(),
  decision_binding: line.optional(),
  rationale: prose.optional(),
})
export type PackRule = z.infer<typeof rule>

const bundle = z.strictObject({
  bundle_id: contractId,
  priority: z.int(),
  policy_dsl: z.strictObject({ language: z.literal('jsonlogic'), rules: z.array(rule).max(5_000) }),
  non_enforcing: names.optional(),
})
export type PolicyBundle = z.infer<typeof bundle>

const guardrail = z.strictObject({ rule_id: contractId, when: jsonValue, reason: prose })
export type Guardrail = z.infer<typeof guardrail>

const redaction = z.strictObject({
  rule_id: contractId,
  when: jsonValue,
  paths: z.array(line).optional(),
  pattern: z.string().max(512).optional(),
  replace: line,
})

const gate = z.strictObject({
  gate_id: contractId,
  when: jsonValue,
  required_approver_role: line,
  capabilities: z.array(capabilityId).optional(),
  quorum: positive.optional(),
  expires_in_ms: positive.optional(),
})
export type ApprovalGate = z.infer<typeof gate>

const capability = z.strictObject({
  name: line,
  kind: z.enum(['read', 'write']),
  risk_level: z.enum(['read', 'write_reversible', 'write_irreversible']),
  approval_mode: tier,
  arg_schema_ref: line.optional(),
  output_schema_ref: line.optional(),
  required_scopes: z.array(line).optional(),
  grants: z.array(grantPath).optional(),
  idempotency: z.enum(['none', 'key', 'natural']).optional(),
  timeout_ms: z.int().min(100).max(120_000).optional(),
  retryable_errors: z.array(line).optional(),
  max_retries: z.int().min(0).max(10).optional(),
  cost_cents_max: z.number().min(0).optional(),
  mutations: z.array(line).optional(),
  provides: names.optional(),
  reconcile_op: line.optional(),
  reversal_op: line.optional(),
  non_recoverable: z.literal(true).optional(),
})
export type PackCapability = z.infer<typeof capability>

const adapter = z.strictObject({
  adapter_id: contractId,
  type: z.enum(['OPENAPI', 'MCP', 'A2A', 'function', 'custom']),
  endpoint_ref: contractId,
  capabilities: z.array(z.union([line, capability])).min(1),
  approval_mode: tier,
  owner: line.optional(),
  egress: z.array(line).optional(),
  rate: z.strictObject({ calls: positive, per_ms: positive }).optional(),
  trace: z.enum(['parent', 'full']).optional(),
})
export type PackAdapter = z.infer<typeof adapter>

const permission = z.strictObject({
  permission_id: contractId,
  adapter_id: contractId,
  capability: line,
  allow: z.boolean(),
  role: line.optional(),
  arg_constraints: argConstraints.optional(),
})
export type PackPermission = z.infer<typeof permission>

const intent = z.strictObject({
  intent_id: contractId,
  version,
  owner_role: line,
  description: prose,
  risk_class: tier,
  accepted_channels: z.array(line),
  locale_support: z.array(line),
  eligible_task_templates: names,
})
export type Intent = z.infer<typeof intent>

const templateStep = z.strictObject({
  id: contractId,
  tool: capabilityId,
  params: jsonObject,
  depends_on: names.optional(),
  approval_mode: tier.optional(),
  requires: names.optional(),
  evidence_refs: z.array(line).optional(),
  when: jsonValue.optional(),
  provides: names.optional(),
  on_error: z.enum(['stop', 'continue']).optional(),
})

const taskTemplate = z.strictObject({
  template_id: contractId,
  version,
  decision_keys: names,
  steps: z.array(templateStep).max(64),
  decision: z.strictObject({ decision_key: contractId, outcome: jsonValue, outputs: jsonObject }),
  when: jsonValue.optional(),
  priority: z.int().optional(),
})
export type TaskTemplate = z.infer<typeof taskTemplate>

const decisionSpec = z.strictObject({
  decision_key: contractId,
  version,
  owner_role: line,
  required_evidence: names,
  allowed_outcomes: names.min(1),
  approval_mode: tier,
  inputs_schema_ref: line,
  outputs_schema_ref: line,
  eligibility_rules: jsonValue,
  decision_right: z.enum(['propose', 'recommend', 'execute', 'escalate']),
  challenge_required: z.boolean(),
  accept_asserted: names.optional(),
  outcome_map: z.strictObject({ denied: contractId.optional(), escalated: contractId.optional() }).optional(),
})
export type DecisionSpec = z.infer<typeof decisionSpec>

const decisions = {
  decision_specs: z.array(decisionSpec),
  intents: z.array(intent).optional(),
  task_templates: z.array(taskTemplate).optional(),
}

export const writeClass = z.enum(['evidence_link', 'preference', 'decision_outcome', 'correction'])

/** What a signature covers is everything beside it. */
const signed = { signature: signatureObject.optional() }

export const contextPack = z.strictObject({
  contract_meta: contractMeta,
  pack_meta: packMeta,
  intelligence_refs: z.strictObject({
    ontology: line,
    ontology_version: line,
    entity_types: z.array(line),
    relation_types: z.array(line),
    snapshot_pin_rule: line,
    ceid_namespaces: z.array(line),
    retrieval: z.strictObject({
      mode: line,
      seed_strategy: line,
      max_hops: z.int().min(0),
      top_k: positive,
      freshness_window: line,
      evidence_required: z.boolean(),
    }),
    knowledge_packs: z.array(line).optional(),
  }),
  business_context: z.strictObject({ summary: prose, non_negotiables: z.array(prose) }),
  policy_layer: z.strictObject({
    policy_bundles: z.array(bundle),
    guardrails: z.strictObject({
      must_refuse: z.array(guardrail),
      must_escalate: z.array(guardrail),
      redaction_rules: z.array(redaction),
    }),
    approval_gates: z.array(gate),
  }),
  tooling_layer: z.strictObject({ adapter_registry: z.array(adapter), permissions: z.array(permission) }),
  decision_layer: z.strictObject(decisions),
  memory_layer: z.strictObject({
    tier_ttls: z
      .strictObject({ working: positive, episodic: positive, semantic: positive, durable: positive })
      .partial()
      .optional(),
    write_classes: z.array(writeClass),
    consent_required: z.array(writeClass),
    promotion: z.strictObject({ min_confidence: fraction, auto_promote_classes: z.array(writeClass) }),
  }),
  evaluation_layer: z.strictObject({
    eval_targets: z.array(z.strictObject({ intent: contractId, evaluator: line, floor: fraction, target: fraction })),
  }),
  tone_and_comms: z.strictObject({ voice: prose, do: z.array(prose), do_not: z.array(prose) }),
  ...signed,
})
export type ContextPack = z.infer<typeof contextPack>

/** Intents, templates and decision specs that several packs share. */
export const packCatalog = z.strictObject({
  contract_meta: contractMeta,
  pack_meta: packMeta,
  ...decisions,
  decision_specs: decisions.decision_specs.optional(),
  ...signed,
})
export type PackCatalog = z.infer<typeof packCatalog>
