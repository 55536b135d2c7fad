/** A pack to start from: it validates as it is, and offers no tool yet. */
export const template = (
  id: string,
  tenant: string,
): string => `# What an agent may see, call and decide. Ten layers; see \`ambit schema show context-pack\`.
contract_meta:
  contract_name: ${tenant}.${id}
  contract_version: 1.0.0
  issuer: ${tenant}
  created_at: ${new Date().toISOString()}
  compatibility:
    requires: { ambit: '>=0.1.0' }
pack_meta:
  pack_id: ctxpack.${id}
  pack_version: 1.0.0
  tenant: ${tenant}
  # The highest tier that runs execute without people: read_only, local_write, network, delegated, destructive.
  environment_defaults: { safety_mode: read_only }
  ttl_seconds: 31536000
  data_classification: INTERNAL
intelligence_refs:
  ontology: none
  ontology_version: '0'
  entity_types: []
  relation_types: []
  snapshot_pin_rule: newest
  ceid_namespaces: []
  retrieval: { mode: none, seed_strategy: none, max_hops: 0, top_k: 1, freshness_window: none, evidence_required: false }
business_context:
  summary: Says what the business is about, in a sentence.
  # Always in front of the model.
  non_negotiables: [Say when you do not know.]
policy_layer:
  policy_bundles: []
  #  - bundle_id: ${id.toUpperCase()}_V1
  #    priority: 100
  #    policy_dsl:
  #      language: jsonlogic
  #      rules:
  #        - { rule_id: R_SMALL, if: { '<': [{ var: args.cents }, 5000] }, then: { allow: true }, applies_to: { capability: desk.refund } }
  guardrails: { must_refuse: [], must_escalate: [], redaction_rules: [] }
  approval_gates: []
tooling_layer:
  # Capabilities that the host offers, by the part of their id before the last dot: desk.refund is refund of desk.
  adapter_registry: []
  #  - adapter_id: desk
  #    type: function
  #    endpoint_ref: host
  #    approval_mode: network
  #    capabilities: [{ name: refund, kind: write, risk_level: write_reversible, approval_mode: network, reversal_op: desk.charge }]
  permissions: []
  #  - { permission_id: P_REFUND, adapter_id: desk, capability: refund, allow: true }
decision_layer:
  decision_specs: []
  intents:
    - intent_id: ${id}.ask
      version: 1.0.0
      owner_role: owner
      description: Answer a question.
      risk_class: read_only
      accepted_channels: [console]
      locale_support: [en-GB]
      eligible_task_templates: []
memory_layer:
  write_classes: []
  consent_required: []
  promotion: { min_confidence: 0.8, auto_promote_classes: [] }
evaluation_layer: { eval_targets: [] }
tone_and_comms: { voice: Short and factual., do: [], do_not: [] }
`
