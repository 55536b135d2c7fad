import { canonical, type Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import type {
  ApprovalGate,
  ContextPack,
  DecisionSpec,
  Guardrail,
  Intent,
  PackAdapter,
  PackPermission,
  PolicyBundle,
  TaskTemplate,
} from '../model/contract/pack.ts'
import type { LoadedRef } from './facts.ts'

/** Several packs and catalogs as one, in the order of the request. */
export interface MergedPacks {
  readonly refs: readonly LoadedRef[]
  /** Without its catalogs. The first is the one that is named where only one can be. */
  readonly packs: readonly ContextPack[]
  readonly bundles: readonly PolicyBundle[]
  readonly mustRefuse: readonly Guardrail[]
  readonly mustEscalate: readonly Guardrail[]
  readonly redactions: readonly ContextPack['policy_layer']['guardrails']['redaction_rules'][number][]
  readonly gates: readonly ApprovalGate[]
  readonly adapters: readonly PackAdapter[]
  readonly permissions: readonly PackPermission[]
  readonly intents: readonly Intent[]
  readonly templates: readonly TaskTemplate[]
  readonly specs: readonly DecisionSpec[]
}

/** Merges what was loaded. The same id with other content in two of them is `pack.conflict`. */
export function mergePacks(refs: readonly LoadedRef[]): MergedPacks {
  const packs = refs.flatMap((each) => (each.kind === 'pack' ? [each.document] : []))
  const guardrails = packs.map(({ policy_layer }) => policy_layer.guardrails)
  const decisions = refs.map(({ document }) => ('decision_layer' in document ? document.decision_layer : document))
  return {
    refs,
    packs,
    bundles: unite(
      'policy bundle',
      packs.flatMap(({ policy_layer }) => policy_layer.policy_bundles),
      'bundle_id',
    ),
    mustRefuse: unite(
      'guardrail',
      guardrails.flatMap(({ must_refuse }) => must_refuse),
      'rule_id',
    ),
    mustEscalate: unite(
      'guardrail',
      guardrails.flatMap(({ must_escalate }) => must_escalate),
      'rule_id',
    ),
    redactions: unite(
      'redaction rule',
      guardrails.flatMap(({ redaction_rules }) => redaction_rules),
      'rule_id',
    ),
    gates: unite(
      'gate',
      packs.flatMap(({ policy_layer }) => policy_layer.approval_gates),
      'gate_id',
    ),
    adapters: unite(
      'adapter',
      packs.flatMap(({ tooling_layer }) => tooling_layer.adapter_registry),
      'adapter_id',
    ),
    permissions: unite(
      'permission',
      packs.flatMap(({ tooling_layer }) => tooling_layer.permissions),
      'permission_id',
    ),
    intents: unite(
      'intent',
      decisions.flatMap(({ intents = [] }) => intents),
      'intent_id',
    ),
    templates: unite(
      'template',
      decisions.flatMap(({ task_templates = [] }) => task_templates),
      'template_id',
    ),
    specs: unite(
      'decision spec',
      decisions.flatMap(({ decision_specs = [] }) => decision_specs),
      'decision_key',
    ),
  }
}

/** Each once, in order. */
function unite<T extends object>(what: string, all: readonly T[], key: keyof T & string): readonly T[] {
  const found = new Map<string, T>()
  for (const each of all) {
    const id = String(each[key])
    const known = found.get(id)
    if (known !== undefined && canonical(known as Json) !== canonical(each as Json))
      throw new Failure('pack.conflict', `two packs differ in ${what} ${quote(id)}`, { id, what })
    found.set(id, known ?? each)
  }
  return [...found.values()]
}
