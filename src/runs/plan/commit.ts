import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import type { JsonObject } from '../../base/object.ts'
import type { EvidenceFact } from '../../model/contract/compiled.ts'
import type { DecisionSpec, TaskTemplate } from '../../model/contract/pack.ts'
import { undecided } from '../../policy/conditions/values.ts'
import { evidenceIn, isRuntimeEvidence, keyStates } from './evidence.ts'
import { expressionValue, resolveParams, verdictOf } from './expressions.ts'
import { expressionFacts, type LoopFacts, specOf, templateOf, tierIn } from './facts.ts'
import { callRoots, type RuledCall, type Ruling, ruleCall } from './modes.ts'
import { finishedSteps, type PlanProgress, type Progress, type StepCall, wentWell } from './progress.ts'

export interface Refusal {
  readonly code: string
  readonly message: string
}

/**
 * The four conditions of a call that its decision is bound to: a rule allows it, what rules require is there, the case
 * is eligible, the required evidence is complete. The first that does not hold.
 */
export function refusalOf(
  call: RuledCall & { readonly provides: readonly string[] },
  progress: Progress,
  facts: LoopFacts,
): Refusal | undefined {
  const spec = specOf(facts, progress.plans.at(-1))
  const ruling = ruleCall(call, progress, facts, true)
  if (spec === undefined || ruling === undefined) return undefined
  return (
    ruleRefusal(ruling, call) ??
    requiresRefusal(ruling, call, progress, facts) ??
    eligibilityRefusal(spec, call.args, progress, facts) ??
    evidenceRefusal(spec, call.provides, progress, facts)
  )
}

const ruleRefusal = ({ allowed, reason }: Ruling, { capability_id }: RuledCall): Refusal | undefined =>
  allowed ? undefined : { code: reason, message: `no rule allows ${quote(capability_id)} here` }

const requiresRefusal = (
  { requires }: Ruling,
  { provides }: { readonly provides: readonly string[] },
  progress: Progress,
  facts: LoopFacts,
): Refusal | undefined =>
  unmet(
    requires.filter((key) => !provides.includes(key)),
    progress,
    facts,
  )

function eligibilityRefusal(
  { eligibility_rules, decision_key }: DecisionSpec,
  args: JsonObject,
  progress: Progress,
  facts: LoopFacts,
): Refusal | undefined {
  const verdict = verdictOf(eligibility_rules, callRoots(args, progress, facts))
  if (verdict === true) return undefined
  if (verdict === false) return { code: 'ineligible', message: `the case is not eligible for ${quote(decision_key)}` }
  if (verdict === undecided) return { code: 'requires_unmet', message: 'whether the case is eligible is not known' }
  return { code: 'policy_eval_error', message: verdict.message }
}

const evidenceRefusal = (
  { required_evidence }: DecisionSpec,
  provides: readonly string[],
  progress: Progress,
  facts: LoopFacts,
): Refusal | undefined =>
  unmet(
    required_evidence.filter((key) => !provides.includes(key)),
    progress,
    facts,
  )

function unmet(keys: readonly string[], progress: Progress, facts: LoopFacts): Refusal | undefined {
  const lacking = lackingIn(keys, progress, facts)[0]
  return lacking && { code: 'requires_unmet', message: `evidence ${quote(lacking.key)} is ${lacking.state}` }
}

/** The keys that do not count, but for the evidence that the loop itself is before it commits. */
const lackingIn = (keys: readonly string[], progress: Progress, facts: LoopFacts) =>
  keyStates(
    keys.filter((key) => !isRuntimeEvidence(key)),
    progress,
    facts,
  ).filter(({ state }) => state !== 'present')

/** Whether the decision is bound to this step: a rule of the call says so, or the plan decides after it. */
export function isBound(
  step: { readonly id: string; readonly tool: string; readonly args: JsonObject },
  plan: PlanProgress,
  progress: Progress,
  facts: LoopFacts,
): boolean {
  const spec = specOf(facts, plan)
  if (spec === undefined || tierIn(facts, step.tool)?.kind !== 'write') return false
  const decidesAfter = plan.plan?.decision_checkpoints.some(({ after_step }) => after_step === step.id) === true
  const call = { capability_id: step.tool, args: step.args }
  return decidesAfter || ruleCall(call, progress, facts, false)?.bindings.includes(spec.decision_key) === true
}

/** Calls that the decision is bound to and that took effect. */
export const committedCalls = (progress: Progress, facts: LoopFacts) =>
  progress.plans.flatMap((plan) =>
    plan.calls.filter(
      ({ answer, step: id, capability_id: tool, args }) =>
        answer?.status === 'completed' && isBound({ id, tool, args }, plan, progress, facts),
    ),
  )

export interface Committed {
  readonly decision: string
  readonly outcome: string
  readonly outputs: JsonObject
}

/** The commit rule: what the run decides, or the cause why it does not. */
export function commit(
  progress: Progress,
  facts: LoopFacts,
): Committed | { readonly cause: string; readonly reason: string } {
  const spec = specOf(facts, progress.plans.at(-1))
  if (spec === undefined)
    return { cause: 'violates_decision_spec', reason: 'the plan decides what the intent does not' }
  if (spec.decision_right !== 'execute')
    return { cause: 'decision_right', reason: `the agent may only ${spec.decision_right} this` }
  const [lacking] = lackingIn(spec.required_evidence, progress, facts)
  if (lacking !== undefined)
    return {
      cause: causes[lacking.state] ?? 'evidence_missing',
      reason: `evidence ${quote(lacking.key)} is ${lacking.state}`,
    }
  if (spec.required_evidence.includes('approval') && !finishedSteps(progress).some(({ answer }) => answer.approver))
    return { cause: 'evidence_missing', reason: 'nobody has approved anything' }
  const committed = committedCalls(progress, facts)
  for (const call of committed) {
    const ruling = ruleCall(call, before(progress, call), facts, true)
    if (ruling?.allowed === false)
      return { cause: ruling.reason, reason: `no rule allows ${quote(call.capability_id)}` }
  }
  const refusal = eligibilityRefusal(spec, committed[0]?.args ?? {}, progress, facts)
  if (refusal !== undefined)
    return { cause: refusal.code === 'requires_unmet' ? 'evidence_missing' : refusal.code, reason: refusal.message }
  return outcomeOf(spec, progress, facts)
}

/** The run as it was when the call was made. */
function before({ plans, ...rest }: Progress, { call_id }: StepCall): Progress {
  const at = plans.findIndex(({ calls }) => calls.some((call) => call.call_id === call_id))
  const cut = plans.slice(0, at + 1).map((plan, index) => {
    if (index < at) return plan
    return {
      ...plan,
      calls: plan.calls.slice(
        0,
        plan.calls.findIndex((call) => call.call_id === call_id),
      ),
    }
  })
  return { ...rest, plans: cut }
}

const causes: Partial<Record<string, string>> = { stale: 'evidence_stale', conflict: 'evidence_conflict' }

/** The outcome that the template of the decision comes to, with its outputs. */
export function outcomeOf(
  spec: DecisionSpec,
  progress: Progress,
  facts: LoopFacts,
): Committed | { readonly cause: string; readonly reason: string } {
  const last = progress.plans.at(-1)
  const template = last && templateFor(spec, last, facts)
  const read = template ? stepsAs(template, progress, facts) : {}
  const outcome = template ? expressionValue(template.decision.outcome, read) : onlyOutcome(spec)
  if (typeof outcome !== 'string' || !spec.allowed_outcomes.includes(outcome))
    return wrong(typeof outcome === 'string' ? `outcome ${quote(outcome)} is not allowed` : 'the outcome is not known')
  const { params: outputs, problems } = template
    ? resolveParams(template.decision.outputs, read)
    : { params: last?.text === undefined ? {} : { text: last.text }, problems: [] }
  const [problem] = problems
  if (problem !== undefined) return wrong(`output ${quote(problem.member)}: ${problem.message}`)
  if (isSuccess(spec, outcome) && last !== undefined && !isSupported(last))
    return wrong(`no result supports outcome ${quote(outcome)}`)
  return { decision: spec.decision_key, outcome, outputs }
}

const wrong = (reason: string) => ({ cause: 'violates_decision_spec', reason })

const onlyOutcome = ({ allowed_outcomes: [only, ...others] }: DecisionSpec): string | undefined =>
  others.length === 0 ? only : undefined

const isSuccess = ({ outcome_map = {} }: DecisionSpec, outcome: string): boolean =>
  outcome !== outcome_map.denied && outcome !== outcome_map.escalated

/** A plan without steps answers by itself; in any other something went well, the step that is decided after among it. */
function isSupported({ plan, calls }: PlanProgress): boolean {
  if (plan === undefined || plan.steps.length === 0) return true
  const wentIn = (step: string): boolean | undefined => {
    const answer = calls.findLast((call) => call.step === step)?.answer
    return answer && wentWell(answer)
  }
  const after = plan.decision_checkpoints.map(({ after_step }) => wentIn(after_step))
  return !after.includes(false) && plan.steps.some(({ id }) => wentIn(id) === true)
}

const templateFor = (spec: DecisionSpec, plan: PlanProgress, facts: LoopFacts): TaskTemplate | undefined =>
  templateOf(facts, plan) ?? facts.known.templates.find(({ decision }) => decision.decision_key === spec.decision_key)

/** Steps as a template names them: those of another planner by their capability, those that did not run as skipped. */
function stepsAs(template: TaskTemplate, progress: Progress, facts: LoopFacts) {
  const read = expressionFacts(facts, progress)
  const steps = (read['steps'] ?? {}) as { readonly [step: string]: Json }
  const finished = finishedSteps(progress)
  const named = template.steps.map(({ id, tool }) => {
    const same = finished.findLast(({ call }) => call.capability_id === tool)?.step
    return [id, steps[id] ?? (same === undefined ? undefined : steps[same]) ?? { status: 'skipped' }] as const
  })
  return { ...read, steps: { ...steps, ...Object.fromEntries(named) } }
}

/** The facts that the decision rests on: those behind the evidence it requires, and what its rules require. */
export function evidenceUsed(progress: Progress, facts: LoopFacts): readonly EvidenceFact[] {
  const spec = specOf(facts, progress.plans.at(-1))
  const calls = committedCalls(progress, facts)
  const keys = [
    ...(spec?.required_evidence ?? []),
    ...calls.flatMap((call) => ruleCall(call, progress, facts, true)?.requires ?? []),
  ]
  const known = new Set(evidenceIn(progress, facts).flatMap(({ key }) => key ?? []))
  const wanted = [...new Set(keys)].filter((key) => known.has(key))
  return keyStates(wanted, progress, facts).flatMap(({ fact }) => fact ?? [])
}
