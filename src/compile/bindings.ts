import { quote } from '../base/failure.ts'
import type { FailureCode } from '../base/failure-codes.ts'
import type { ContextPack, PackCatalog } from '../model/contract/pack.ts'
import type { MergedPacks } from './merge.ts'
import { rankOf } from './rules.ts'

/** One reference that leads nowhere, or that contradicts what it names; `pointer` is its place in the pack. */
export interface Unresolved {
  readonly pointer: string
  readonly message: string
  /** Where it is not that a reference leads nowhere. */
  readonly code?: FailureCode
}

/** What stands behind a capability of the host: `host` for a function of its own, else the upstream by its name. */
export type EndpointOf = (capabilityId: string) => string | undefined

/** Evidence that no tool has to provide: the runtime does. */
const runtimeEvidence = ['policy_eval', 'approval']

/**
 * Every edge of the binding graph of a pack or catalog that does not resolve among all that is loaded with it, in the
 * order of the document. `endpointOf` names what stands behind a capability of the host, and nothing for one that it does not
 * offer; without it capabilities are taken to be there.
 */
export function unresolvedIn(
  document: ContextPack | PackCatalog,
  packs: MergedPacks,
  endpointOf?: EndpointOf,
): readonly Unresolved[] {
  const graph = graphOf(packs)
  const decisions = 'decision_layer' in document ? document.decision_layer : document
  const at = 'decision_layer' in document ? '/decision_layer' : ''
  return [
    ...('policy_layer' in document ? [...ruleEdges(document, graph), ...toolEdges(document, graph, endpointOf)] : []),
    ...templateEdges(decisions.task_templates ?? [], `${at}/task_templates`, graph),
    ...intentEdges(decisions.intents ?? [], `${at}/intents`, graph),
    ...('evaluation_layer' in document ? targetEdges(document, graph) : []),
  ]
}

type Graph = ReturnType<typeof graphOf>

function graphOf(packs: MergedPacks) {
  const ids = <T>(all: readonly T[], id: (each: T) => string): ReadonlySet<string> => new Set(all.map(id))
  const capabilities = new Map<string, Pick<Described, 'approval_mode' | 'provides'>>()
  for (const { adapter_id, approval_mode, capabilities: listed } of packs.adapters)
    for (const each of listed)
      if (typeof each === 'string') capabilities.set(`${adapter_id}.${each}`, { approval_mode })
      else capabilities.set(`${adapter_id}.${each.name}`, each)
  const provided = [...capabilities.values()].flatMap(({ provides = [] }) => provides)
  const promised = packs.templates.flatMap(({ steps }) => steps.flatMap(({ provides = [] }) => provides))
  const required = packs.specs.flatMap(({ required_evidence }) => required_evidence)
  return {
    intents: ids(packs.intents, ({ intent_id }) => intent_id),
    specs: new Map(packs.specs.map((spec) => [spec.decision_key, spec])),
    gates: ids(packs.gates, ({ gate_id }) => gate_id),
    templates: ids(packs.templates, ({ template_id }) => template_id),
    evidence: new Set([...provided, ...promised, ...required, ...runtimeEvidence]),
    capabilities,
    /** A catalog alone cannot say which tools and gates its packs will bring. */
    isAlone: packs.packs.length === 0,
    hasTool: (id: string): boolean => packs.packs.length === 0 || capabilities.has(id),
  }
}

const edge = (isThere: boolean, pointer: string, what: string, name: string): readonly Unresolved[] =>
  isThere ? [] : [{ pointer, message: `${what} ${quote(name)} is not there` }]

function ruleEdges({ policy_layer: { policy_bundles } }: ContextPack, graph: Graph): readonly Unresolved[] {
  return policy_bundles.flatMap(({ policy_dsl, non_enforcing = [] }, b) => {
    const ids = policy_dsl.rules.map(({ rule_id }) => rule_id)
    const rules = policy_dsl.rules.flatMap((rule, r) => {
      const at = `/policy_layer/policy_bundles/${b}/policy_dsl/rules/${r}`
      const { applies_to: { intent = [], capability = [] } = {}, decision_binding: bound, then } = rule
      const gate = then.requires_approval_gate
      return [
        ...[intent].flat().flatMap((name) => edge(graph.intents.has(name), `${at}/applies_to/intent`, 'intent', name)),
        ...[capability]
          .flat()
          .flatMap((name) => edge(graph.capabilities.has(name), `${at}/applies_to/capability`, 'capability', name)),
        ...(then.prohibits ?? []).flatMap((name, i) =>
          edge(graph.capabilities.has(name), `${at}/then/prohibits/${i}`, 'capability', name),
        ),
        ...(bound === undefined ? [] : edge(isBound(bound, graph), `${at}/decision_binding`, 'decision spec', bound)),
        ...(gate === undefined ? [] : edge(graph.gates.has(gate), `${at}/then/requires_approval_gate`, 'gate', gate)),
        ...(then.requires ?? []).flatMap((key, i) =>
          edge(graph.evidence.has(key), `${at}/then/requires/${i}`, 'evidence', key),
        ),
      ]
    })
    const silent = non_enforcing.flatMap((name, i) =>
      edge(ids.includes(name), `/policy_layer/policy_bundles/${b}/non_enforcing/${i}`, 'rule', name),
    )
    return [...rules, ...silent]
  })
}

const isBound = (binding: string, { specs }: Graph): boolean => specs.has(binding.replace(/^decision\./, ''))

function toolEdges(
  { tooling_layer: { adapter_registry, permissions }, policy_layer: { approval_gates } }: ContextPack,
  graph: Graph,
  endpointOf: EndpointOf | undefined,
): readonly Unresolved[] {
  const offered = adapter_registry.flatMap(({ adapter_id, endpoint_ref, capabilities }, a) =>
    capabilities.flatMap((each, c) => {
      const id = `${adapter_id}.${typeof each === 'string' ? each : each.name}`
      const place = `/tooling_layer/adapter_registry/${a}`
      const at = `${place}/capabilities/${c}`
      const endpoint = endpointOf === undefined ? endpoint_ref : endpointOf(id)
      const missing =
        endpoint === undefined
          ? [{ pointer: at, message: `capability ${quote(id)} is not offered by this host` }]
          : endpoint === endpoint_ref
            ? []
            : [{ pointer: `${place}/endpoint_ref`, message: `behind ${quote(id)} stands ${quote(endpoint)} here` }]
      return [...missing, ...(typeof each === 'string' ? [] : reversal(each, at))]
    }),
  )
  const allowed = permissions.flatMap(({ adapter_id, capability }, i) => {
    const id = `${adapter_id}.${capability}`
    return edge(graph.capabilities.has(id), `/tooling_layer/permissions/${i}`, 'capability', id)
  })
  const gated = approval_gates.flatMap(({ capabilities = [] }, i) =>
    capabilities.flatMap((id) =>
      edge(graph.capabilities.has(id), `/policy_layer/approval_gates/${i}/capabilities`, 'capability', id),
    ),
  )
  return [...offered, ...allowed, ...gated]
}

type Described = Exclude<ContextPack['tooling_layer']['adapter_registry'][number]['capabilities'][number], string>

/** A write says how it is taken back, or that it cannot be. */
const reversal = ({ name, kind, reversal_op, non_recoverable }: Described, pointer: string): readonly Unresolved[] =>
  kind === 'read' || reversal_op !== undefined || non_recoverable
    ? []
    : [{ pointer, message: `write ${quote(name)} needs \`reversal_op\`, or \`non_recoverable: true\`` }]

function templateEdges(
  templates: NonNullable<PackCatalog['task_templates']>,
  place: string,
  graph: Graph,
): readonly Unresolved[] {
  return templates.flatMap(({ steps, decision_keys, decision }, t) => {
    const ids = steps.map(({ id }) => id)
    const decides = `${place}/${t}/decision/decision_key`
    const called = steps.flatMap(({ tool, depends_on = [], requires = [] }, s) => [
      ...edge(graph.hasTool(tool), `${place}/${t}/steps/${s}/tool`, 'capability', tool),
      ...depends_on.flatMap((id) => edge(ids.includes(id), `${place}/${t}/steps/${s}/depends_on`, 'step', id)),
      ...(graph.isAlone ? [] : requires).flatMap((id, i) =>
        edge(graph.gates.has(id), `${place}/${t}/steps/${s}/requires/${i}`, 'gate', id),
      ),
    ])
    const decided = decision_keys.flatMap((key, k) => {
      const spec = graph.specs.get(key)
      const at = `${place}/${t}/decision_keys/${k}`
      if (spec === undefined) return edge(false, at, 'decision spec', key)
      const modes = steps.flatMap(({ tool }) => graph.capabilities.get(tool)?.approval_mode ?? [])
      return modes.some((mode) => rankOf(mode) > rankOf(spec.approval_mode))
        ? [{ pointer: at, message: `decision spec ${quote(key)} has a lower mode than a tool of the template` }]
        : []
    })
    return [
      ...called,
      ...circle(steps, `${place}/${t}/steps`),
      ...decided,
      ...edge(graph.specs.has(decision.decision_key), decides, 'decision spec', decision.decision_key),
    ]
  })
}

/** Steps that wait for one another. */
function circle(steps: readonly Pick<Step, 'id' | 'depends_on'>[], pointer: string): readonly Unresolved[] {
  const done = new Set<string>()
  for (let left = -1; left !== done.size; ) {
    left = done.size
    for (const { id, depends_on = [] } of steps) if (depends_on.every((each) => done.has(each))) done.add(id)
  }
  const stuck = steps.findIndex(({ id }) => !done.has(id))
  const isKnown = steps.every(({ depends_on = [] }) => depends_on.every((each) => steps.some(({ id }) => id === each)))
  return stuck < 0 || !isKnown ? [] : [{ pointer: `${pointer}/${stuck}`, message: 'waits for itself' }]
}

type Step = NonNullable<PackCatalog['task_templates']>[number]['steps'][number]

const intentEdges = (
  intents: NonNullable<PackCatalog['intents']>,
  place: string,
  graph: Graph,
): readonly Unresolved[] =>
  intents.flatMap(({ eligible_task_templates }, i) =>
    eligible_task_templates.flatMap((name, k) =>
      edge(graph.templates.has(name), `${place}/${i}/eligible_task_templates/${k}`, 'task template', name),
    ),
  )

const targetEdges = ({ evaluation_layer: { eval_targets } }: ContextPack, graph: Graph): readonly Unresolved[] =>
  eval_targets.flatMap(({ intent }, i) =>
    edge(graph.intents.has(intent), `/evaluation_layer/eval_targets/${i}/intent`, 'intent', intent),
  )
