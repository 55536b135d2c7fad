// Verify a second time: slow and plain, from the documents of the packs, sharing nothing with the loop but its types.
// It judges a run in which no step has been answered yet.

import { canonical, type Json } from '../../src/base/canonical.ts'
import { tiers } from '../../src/model/contract/context.ts'
import type { PackCapability, PackRule } from '../../src/model/contract/pack.ts'
import type { Plan, PlanStep } from '../../src/model/contract/plan.ts'
import type { LoopFacts } from '../../src/runs/plan/facts.ts'
import { referenceVerdict } from './policy-reference.ts'

export interface ReferenceCase {
  readonly plan: Plan
  readonly sentBack: readonly Plan[]
  readonly unsurfacedBefore: boolean
  readonly facts: LoopFacts
}

/** `ok`, or the verdict with its kind. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one check after the other, to be read beside the contract
export function referenceVerify({ plan, sentBack, unsurfacedBefore, facts }: ReferenceCase): string {
  const { packs } = facts.packs
  const spec = packs.specs[0]
  const surface = facts.compiled.context_ledger.tools
  const capabilities = new Map<string, PackCapability>(
    packs.adapters.flatMap(({ adapter_id, capabilities: all }) =>
      all.map((each) => [`${adapter_id}.${(each as PackCapability).name}`, each as PackCapability] as const),
    ),
  )
  const ids = plan.steps.map(({ id }) => id)
  const isCircular = (id: string, path: readonly string[]): boolean =>
    path.includes(id) ||
    (plan.steps.find((step) => step.id === id)?.depends_on ?? []).some((each) => isCircular(each, [...path, id]))
  if (
    plan.intent !== facts.request.intent ||
    new Set(ids).size < ids.length ||
    plan.steps.some(({ depends_on = [] }) => depends_on.some((id) => !ids.includes(id))) ||
    plan.decision_checkpoints.some(({ after_step }) => !ids.includes(after_step)) ||
    ids.some((id) => isCircular(id, []))
  )
    return 'replan plan_invalid'
  if (plan.steps.some(({ tool }) => !surface.includes(tool)))
    return unsurfacedBefore ? 'reject unsurfaced_capability' : 'replan unsurfaced_capability'
  const read = (step: PlanStep): Json => ({
    run: { intent: facts.request.intent, safety_mode: facts.context.safety_mode },
    request: { ...facts.request, context: facts.request.context ?? {} } as Json,
    args: step.params,
    evidence: Object.fromEntries(facts.evidence.map(({ key = '', value }) => [key, value])),
  })
  const holds = (when: Json, step: PlanStep): string => referenceVerdict(when, read(step))
  const controls = [...packs.mustRefuse, ...packs.mustEscalate]
  if (plan.steps.some((step) => controls.some(({ when }) => ['true', 'error'].includes(holds(when, step)))))
    return 'reject refused_by_control'
  const rulesFor = (step: PlanStep): { rule: PackRule; verdict: string }[] =>
    packs.bundles
      .flatMap(({ policy_dsl }) => policy_dsl.rules)
      .filter(
        ({ applies_to }) => applies_to?.capability === undefined || [applies_to.capability].flat().includes(step.tool),
      )
      .map((rule) => ({ rule, verdict: holds(rule.if, step) }))
  const matched = (step: PlanStep): PackRule[] =>
    rulesFor(step).flatMap(({ rule, verdict }) => (verdict === 'true' ? [rule] : []))
  const isOpen = (step: PlanStep): boolean => rulesFor(step).some(({ verdict }) => verdict === 'undecided')
  const isRead = (step: PlanStep): boolean => capabilities.get(step.tool)?.kind === 'read'
  for (const step of plan.steps) {
    const isErroneous = rulesFor(step).some(({ verdict }) => verdict === 'error')
    const isAllowed = isRead(step) || isOpen(step) || matched(step).some(({ then }) => then.allow)
    if (isErroneous || !isAllowed || matched(step).some(({ then }) => !then.allow)) return 'reject policy_denied'
  }
  if (plan.decision_checkpoints.some(({ decision_id }) => decision_id !== spec?.decision_key))
    return 'replan violates_decision_spec'
  const rank = (tier: string): number => (tiers as readonly string[]).indexOf(tier)
  const highest = (step: PlanStep): number => rank(capabilities.get(step.tool)?.approval_mode ?? 'destructive')
  const asked = (step: PlanStep): number => (step.approval_mode ? rank(step.approval_mode) : highest(step))
  if (spec?.decision_right !== 'execute' && plan.steps.some((step) => asked(step) > rank('local_write')))
    return 'reject violates_decision_spec'
  const same = (a: Plan, b: Plan): boolean =>
    canonical({ ...a, plan_id: '' } as unknown as Json) === canonical({ ...b, plan_id: '' } as unknown as Json)
  if (sentBack.some((each) => same(each, plan))) return 'reject loop_guard'
  const admitted = facts.evidence.flatMap(({ key = '' }) => key)
  const provides = (tool: string): readonly string[] => capabilities.get(tool)?.provides ?? []
  const missing = (keys: readonly string[], steps: readonly PlanStep[]): string | undefined =>
    keys.find(
      (key) =>
        key !== 'policy_eval' && !admitted.includes(key) && !steps.some(({ tool }) => provides(tool).includes(key)),
    )
  const verdictOn = (key: string): string =>
    surface.some((tool) => provides(tool).includes(key)) ? 'replan missing_evidence' : 'reject missing_evidence'
  const done: PlanStep[] = []
  while (done.length < plan.steps.length) {
    const next = plan.steps.find(
      (step) => !done.includes(step) && (step.depends_on ?? []).every((id) => done.some((each) => each.id === id)),
    ) as PlanStep
    const lacks = missing(
      matched(next).flatMap(({ then }) => then.requires ?? []),
      [...done, next],
    )
    if (lacks !== undefined) return verdictOn(lacks)
    done.push(next)
  }
  const lacks = plan.decision_checkpoints.length > 0 ? missing(spec?.required_evidence ?? [], done) : undefined
  if (lacks !== undefined) return verdictOn(lacks)
  for (const step of plan.steps) {
    const floor = isRead(step)
      ? 0
      : rank(capabilities.get(step.tool)?.risk_level === 'write_irreversible' ? 'delegated' : 'local_write')
    const named = (rules: readonly PackRule[]): number =>
      Math.max(-1, ...rules.map(({ then }) => rank(then.approval_mode ?? '')))
    const allowing = matched(step).filter(({ then }) => then.allow)
    const open = rulesFor(step).flatMap(({ rule, verdict }) => (verdict === 'undecided' ? [rule] : []))
    const modes = allowing.length > 0 || open.length === 0 ? [named(matched(step))] : open.map((rule) => named([rule]))
    const mode = modes.includes(-1) ? highest(step) : Math.min(...modes)
    const effective = Math.max(floor, Math.min(mode, highest(step)))
    if (asked(step) < effective || asked(step) > highest(step)) return 'replan approval_mode_mismatch'
  }
  return plan.steps.length > facts.limits.calls ? 'reject budget_exceeded' : 'ok'
}
