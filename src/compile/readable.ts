import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { isJsonObject } from '../base/object.ts'
import { Steps } from '../base/steps.ts'
import type { ContextPack, PackCatalog } from '../model/contract/pack.ts'
import { compileCondition } from '../policy/conditions/condition.ts'
import { compilePattern } from '../policy/schema/pattern.ts'
import type { Unresolved } from './bindings.ts'
import { packRoots } from './rules.ts'

type Document = ContextPack | PackCatalog
type Decisions = Pick<PackCatalog, 'decision_specs' | 'intents' | 'task_templates'>

/** Conditions, expressions and patterns of a document that cannot be evaluated, and ids that it uses twice. */
export const unreadableIn = (document: Document): readonly Unresolved[] => [
  ...('policy_layer' in document ? [...policyProblems(document), ...toolProblems(document)] : []),
  ...('decision_layer' in document
    ? decisionProblems(document.decision_layer, '/decision_layer')
    : decisionProblems(document, '')),
]

function policyProblems({ policy_layer: { policy_bundles, guardrails, approval_gates } }: ContextPack): Unresolved[] {
  const at = '/policy_layer'
  return [
    ...repeated(policy_bundles, 'bundle_id', `${at}/policy_bundles`),
    ...policy_bundles.flatMap(({ policy_dsl: { rules }, non_enforcing = [] }, b) => {
      const place = `${at}/policy_bundles/${b}/policy_dsl/rules`
      const found = rules.flatMap((rule, r) => [
        ...(non_enforcing.includes(rule.rule_id) ? [] : condition(rule.if, `${place}/${r}/if`)),
        ...constraints(rule.then.arg_constraints, `${place}/${r}/then/arg_constraints`),
      ])
      return [...repeated(rules, 'rule_id', place), ...found]
    }),
    ...(['must_refuse', 'must_escalate', 'redaction_rules'] as const).flatMap((name) => {
      const place = `${at}/guardrails/${name}`
      const all: readonly { readonly rule_id: string; readonly when: Json; readonly pattern?: string | undefined }[] =
        guardrails[name]
      const found = all.flatMap(({ when, pattern: text }, g) => [
        ...condition(when, `${place}/${g}/when`),
        ...(text === undefined ? [] : pattern(text, `${place}/${g}/pattern`)),
      ])
      return [...repeated(all, 'rule_id', place), ...found]
    }),
    ...repeated(approval_gates, 'gate_id', `${at}/approval_gates`),
    ...approval_gates.flatMap(({ when }, g) => condition(when, `${at}/approval_gates/${g}/when`)),
  ]
}

function toolProblems({ tooling_layer: { adapter_registry, permissions } }: ContextPack): Unresolved[] {
  const [adapters, permitted] = ['/tooling_layer/adapter_registry', '/tooling_layer/permissions']
  return [
    ...repeated(adapter_registry, 'adapter_id', adapters),
    ...adapter_registry.flatMap(({ capabilities }, a) => {
      const named = capabilities.map((each) => ({ name: typeof each === 'string' ? each : each.name }))
      return repeated(named, 'name', `${adapters}/${a}/capabilities`)
    }),
    ...repeated(permissions, 'permission_id', permitted),
    ...permissions.flatMap((each, p) => constraints(each.arg_constraints, `${permitted}/${p}/arg_constraints`)),
  ]
}

function decisionProblems({ decision_specs = [], intents = [], task_templates = [] }: Decisions, at: string) {
  const found = task_templates.flatMap(({ when, steps, decision }, t) => {
    const place = `${at}/task_templates/${t}`
    return [
      ...(when === undefined ? [] : condition(when, `${place}/when`, planRoots)),
      ...repeated(steps, 'id', `${place}/steps`),
      ...steps.flatMap((step, s) => [
        ...(step.when === undefined ? [] : condition(step.when, `${place}/steps/${s}/when`, planRoots)),
        ...expressions(step.params as Json, `${place}/steps/${s}/params`),
      ]),
      ...expression(decision.outcome, `${place}/decision/outcome`),
      ...expressions(decision.outputs as Json, `${place}/decision/outputs`),
    ]
  })
  return [
    ...repeated(decision_specs, 'decision_key', `${at}/decision_specs`),
    ...decision_specs.flatMap((each, d) =>
      condition(each.eligibility_rules, `${at}/decision_specs/${d}/eligibility_rules`),
    ),
    ...repeated(intents, 'intent_id', `${at}/intents`),
    ...repeated(task_templates, 'template_id', `${at}/task_templates`),
    ...found,
  ]
}

const planRoots = [...packRoots, 'steps']

function condition(when: Json, pointer: string, roots: readonly string[] = packRoots): Unresolved[] {
  try {
    compileCondition(when, { pointer, roots })
    return []
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const place = error.data['pointer']
    return [{ pointer: typeof place === 'string' ? place : pointer, message: error.message, code: 'policy.eval_error' }]
  }
}

/** A value of any kind, as `!!` takes one. */
const expression = (value: Json, pointer: string): Unresolved[] =>
  condition({ '!!': [value] }, pointer, planRoots).map((found) => ({
    ...found,
    pointer: found.pointer.replace(`${pointer}/!!/0`, pointer),
  }))

/** Members that are `{"$expr": …}`, however deep. */
function expressions(value: Json, pointer: string): Unresolved[] {
  if (typeof value !== 'object' || value === null) return []
  if (isJsonObject(value) && value['$expr'] !== undefined) return expression(value['$expr'], `${pointer}/$expr`)
  return Object.entries(value).flatMap(([key, inner]) => expressions(inner ?? null, `${pointer}/${key}`))
}

type Constraints = ContextPack['tooling_layer']['permissions'][number]['arg_constraints']

const constraints = (all: Constraints, pointer: string): Unresolved[] =>
  Object.entries(all ?? {}).flatMap(([name, { pattern: text }]) =>
    text === undefined ? [] : pattern(text, `${pointer}/${name}/pattern`),
  )

function pattern(text: string, pointer: string): Unresolved[] {
  try {
    const steps = new Steps()
    steps.allow(limits.schemaStepsMax)
    compilePattern(text, steps)
    return []
  } catch {
    return [{ pointer, message: 'is no pattern that can be read', code: 'field.invalid' }]
  }
}

/** The second of two entries with one id. */
function repeated<T>(all: readonly T[], key: keyof T & string, pointer: string): Unresolved[] {
  const seen = new Set<unknown>()
  return all.flatMap((each, index) => {
    const isSecond = seen.has(each[key])
    seen.add(each[key])
    if (!isSecond) return []
    return [
      {
        pointer: `${pointer}/${index}`,
        message: `is the second with id ${quote(String(each[key]))}`,
        code: 'pack.conflict' as const,
      },
    ]
  })
}
