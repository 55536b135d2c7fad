import { byUnit, type Json } from '../base/canonical.ts'
import { objectHash } from '../base/hash.ts'
import type { LoadedRef } from '../compile/facts.ts'
import type { ContextPack } from '../model/contract/pack.ts'
import type { LlmDefinition } from './definition.ts'

/** What the run of an agent is about, where no catalog says it. */
export const agentIntent = 'agent.run'

interface About {
  readonly tenant: string
  /** With the values of its input in it. */
  readonly instruction: string
  readonly capabilityIds: readonly string[]
}

/** The context pack that a manifest stands for: it allows its own tools, and decides no more than an answer. */
export function agentPack({ manifest }: LlmDefinition, about: About): LoadedRef {
  const document = documentOf(manifest, about)
  const { pack_id, pack_version } = document.pack_meta
  return { ref: `${pack_id}@${pack_version}`, hash: objectHash(document as unknown as Json), kind: 'pack', document }
}

function documentOf({ id, version }: LlmDefinition['manifest'], about: About): ContextPack {
  const { tenant, instruction } = about
  return {
    contract_meta: {
      ...{ contract_name: id, contract_version: version, issuer: 'ambit', created_at: '1970-01-01T00:00:00.000Z' },
      compatibility: { requires: {} },
    },
    pack_meta: {
      ...{ pack_id: `ctxpack.agent.${id}`, pack_version: version, tenant },
      ...{ ttl_seconds: Number.MAX_SAFE_INTEGER, data_classification: 'INTERNAL' },
    },
    intelligence_refs: noIntelligence,
    business_context: { summary: '', non_negotiables: instruction === '' ? [] : [instruction] },
    policy_layer: {
      policy_bundles: [
        {
          ...{ bundle_id: `agent.${id}`, priority: 0 },
          // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
          policy_dsl: { language: 'jsonlogic', rules: [{ rule_id: 'declared', if: true, then: { allow: true } }] },
        },
      ],
      guardrails: { must_refuse: [], must_escalate: [], redaction_rules: [] },
      approval_gates: [],
    },
    tooling_layer: toolingOf(about),
    decision_layer: { decision_specs: [answerSpec], intents: [runIntent] },
    memory_layer: {
      ...{ write_classes: [], consent_required: [] },
      promotion: { min_confidence: 1, auto_promote_classes: [] },
    },
    evaluation_layer: { eval_targets: [] },
    tone_and_comms: { voice: '', do: [], do_not: [] },
  }
}

const runIntent = {
  ...{ intent_id: agentIntent, version: '1.0.0', owner_role: 'agent', description: '', risk_class: 'network' as const },
  ...{ accepted_channels: [], locale_support: [], eligible_task_templates: [] },
}

const answerSpec = {
  ...{ decision_key: agentIntent, version: '1.0.0', owner_role: 'agent', required_evidence: [] },
  ...{ allowed_outcomes: ['answered'], approval_mode: 'destructive' as const, eligibility_rules: true },
  ...{ inputs_schema_ref: 'agent.input', outputs_schema_ref: 'agent.output' },
  ...{ decision_right: 'execute' as const, challenge_required: false },
}

const noIntelligence = {
  ...{ ontology: 'none', ontology_version: '0', entity_types: [], relation_types: [], snapshot_pin_rule: 'run' },
  ceid_namespaces: [],
  retrieval: {
    ...{ mode: 'none', seed_strategy: 'none', max_hops: 0, top_k: 1, freshness_window: 'none' },
    evidence_required: false,
  },
}

/** Each tool by the part of its id before the first dot. What the host knows of it stays as it is. */
function toolingOf({ capabilityIds }: About): ContextPack['tooling_layer'] {
  const parts = capabilityIds.toSorted(byUnit).map((id) => {
    const [adapter = '', ...name] = id.split('.')
    return { adapter, name: name.join('.') }
  })
  return {
    adapter_registry: [...Map.groupBy(parts, ({ adapter }) => adapter)].map(([adapter_id, tools]) => ({
      ...{ adapter_id, type: 'function' as const, endpoint_ref: 'host', approval_mode: 'read_only' as const },
      capabilities: tools.map(({ name }) => name),
    })),
    permissions: parts.map(({ adapter: adapter_id, name: capability }) => ({
      ...{ permission_id: `${adapter_id}.${capability}`, adapter_id, capability, allow: true },
    })),
  }
}
