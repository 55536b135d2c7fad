import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import type { JsonObject } from '../../base/object.ts'
import type { EvidenceFact } from '../../model/contract/compiled.ts'
import type { DecisionSpec, TaskTemplate } from '../../model/contract/pack.ts'
import { undecided } from '../../policy/conditions/values.ts'
import { isRuntimeEvidence, keyStates } from './evidence.ts'
import { expressionValue, resolveParams, verdictOf } from './expressions.ts'
import { expressionFacts, type Loop, specOf, templateOf, tierIn } from './facts.ts'
import { callRoots, type RuledCall, ruleCall } from './modes.ts'
import { asStep, finishedSteps, type PlanProgress, type StepCall, wentWell } from './progress.ts'

export interface Refusal {
  readonly code: string
  readonly message: string
}

/**
 * The four conditions of a call that its decision is bound to: a rule allows it, what rules require is there, the case
 * is eligible, the required evidence is complete but for what the call itself provides. The first that does not hold.
 */
export function refusalOf(call: RuledCall & { readonly provides: readonly string[] }, loop: Loop): Refusal | undefined {
  const spec = specOf(loop)
  const ruling = ruleCall(call, loop, true)
  if (spec === undefined || ruling === undefined) return undefined
  const others = (keys: readonly string[]) => keys.filter((key) => !call.provides.includes(key))
  return (
    ruleRefusal(call, loop) ??
    evidenceRefusal(others(ruling.requires), loop) ??
    eligibilityRefusal(spec, call.args, loop) ??
    evidenceRefusal(others(spec.required_evidence), loop)
  )
}

function ruleRefusal(call: RuledCall, loop: Loop): Refusal | undefined {
  const ruling = ruleCall(call, loop, true)
  if (ruling === undefined || ruling.allowed) return undefined
  return { code: ruling.reason, message: `no rule allows ${quote(call.capability_id)} here` }
}

function eligibilityRefusal(
  { eligibility_rules, decision_key }: DecisionSpec,
  args: JsonObject,
  loop: Loop,
): Refusal | undefined {
  const verdict = verdictOf(eligibility_rules, callRoots(args, loop))
  if (verdict === true) return undefined
  if (verdict === false) return { code: 'ineligible', message: `the case is not eligible for ${quote(decision_key)}` }
  if (verdict === undecided) return { code: 'requires_unmet', message: 'whether the case is eligible is not known' }
  return { code: 'policy_eval_error', message: verdict.message }
}

/** What the loop itself is evidence of is there by then: that rules were asked, that people were. */
function evidenceRefusal(keys: readonly string[], loop: Loop): Refusal | undefined {
  const lacking = firstLacking(keys, loop)
  return lacking && { code: 'requires_unmet', message: `evidence ${quote(lacking.key)} is ${lacking.state}` }
}

export const firstLacking = (keys: readonly string[], loop: Loop) =>
  keyStates(
    keys.filter((key) => !isRuntimeEvidence(key)),
    loop,
  ).find(({ state }) => state !== 'present')

/** Whether the decision is bound to a write: a rule about the call says so, or the plan decides after it. */
export function isBound(call: RuledCall & { readonly step: string }, { plan }: PlanProgress, loop: Loop): boolean {
  const spec = specOf(loop)
  if (spec === undefined || tierIn(loop, call.capability_id)?.kind !== 'write') return false
  if (plan?.decision_checkpoints.some(({ after_step }) => after_step === call.step)) return true
  return ruleCall(call, loop, false)?.bindings.includes(spec.decision_key) === true
}

/** Calls that the decision is bound to and that took effect. */
export const committedCalls = (loop: Loop): readonly StepCall[] =>
  loop.progress.plans.flatMap((plan) =>
    plan.calls.filter((call) => call.answer?.status === 'completed' && isBound(call, plan, loop)),
  )

export interface Committed {
  readonly outcome: string
  readonly outputs: JsonObject
}

export interface NotCommitted {
  readonly cause: string
  readonly reason: string
}

/** The commit rule: what the run decides, or the cause why it does not. */
export function commit(loop: Loop): Committed | NotCommitted {
  const spec = specOf(loop)
  if (spec === undefined) return wrong('the plan decides what the intent does not')
  const { decision_right: right, required_evidence: required } = spec
  if (right !== 'execute') return { cause: 'decision_right', reason: `the agent may only ${right} this` }
  const lacking = firstLacking(required, loop)
  if (lacking !== undefined)
    return { cause: evidenceCause(lacking.state), reason: `evidence ${quote(lacking.key)} is ${lacking.state}` }
  if (required.includes('approval') && !finishedSteps(loop.progress).some(({ answer }) => answer.approver))
    return { cause: 'evidence_missing', reason: 'nobody has approved anything' }
  const calls = committedCalls(loop)
  const refused = calls.flatMap((call) => ruleRefusal(call, before(call, loop)) ?? [])[0]
  const refusal = refused ?? eligibilityRefusal(spec, calls[0]?.args ?? {}, loop)
  if (refusal === undefined) return outcomeOf(spec, loop)
  return { cause: refusal.code === 'requires_unmet' ? 'evidence_missing' : refusal.code, reason: refusal.message }
}

export const evidenceCause = (state: string): string =>
  state === 'stale' || state === 'conflict' ? `evidence_${state}` : 'evidence_missing'

/** The run as it was when the call was made. */
function before({ call_id }: StepCall, loop: Loop): Loop {
  const { plans } = loop.progress
  const place = plans.findIndex(({ calls }) => calls.some((call) => call.call_id === call_id))
  const cut = plans.slice(0, place + 1).map((plan) => {
    const at = plan.calls.findIndex((call) => call.call_id === call_id)
    return at < 0 ? plan : { ...plan, calls: plan.calls.slice(0, at) }
  })
  return { ...loop, progress: { ...loop.progress, plans: cut } }
}

/** The outcome that the template of the decision comes to, with its outputs. */
export function outcomeOf(spec: DecisionSpec, loop: Loop): Committed | NotCommitted {
  const last = loop.progress.plans.at(-1)
  const template = last && templateFor(spec, last, loop)
  const read = template ? stepsAs(template, loop) : {}
  const outcome = template ? expressionValue(template.decision.outcome, read) : onlyOutcome(spec)
  if (typeof outcome !== 'string' || !spec.allowed_outcomes.includes(outcome))
    return wrong(typeof outcome === 'string' ? `outcome ${quote(outcome)} is not allowed` : 'the outcome is not known')
  if (template && isSuccess(spec, outcome) && !isSupported(loop))
    return wrong(`no result supports outcome ${quote(outcome)}`)
  if (template === undefined) return { outcome, outputs: last?.text === undefined ? {} : { text: last.text } }
  const { params: outputs, problems } = resolveParams(template.decision.outputs, read)
  const [problem] = problems
  return problem === undefined ? { outcome, outputs } : wrong(`output ${quote(problem.member)}: ${problem.message}`)
}

const wrong = (reason: string): NotCommitted => ({ cause: 'violates_decision_spec', reason })

const onlyOutcome = ({ allowed_outcomes: [only, ...others] }: DecisionSpec): string | undefined =>
  others.length === 0 ? only : undefined

const isSuccess = ({ outcome_map = {} }: DecisionSpec, outcome: string): boolean =>
  outcome !== outcome_map.denied && outcome !== outcome_map.escalated

/** Something went well, and the step that is decided after did not fail. */
function isSupported({ progress }: Loop): boolean {
  const finished = finishedSteps(progress)
  const after = progress.plans.at(-1)?.plan?.decision_checkpoints.map(({ after_step }) => after_step) ?? []
  const hasFailed = finished.some(({ step, answer }) => after.includes(step) && !wentWell(answer))
  return !hasFailed && finished.some(({ answer }) => wentWell(answer))
}

const templateFor = (spec: DecisionSpec, plan: PlanProgress, loop: Loop): TaskTemplate | undefined =>
  templateOf(loop, plan) ?? loop.known.templates.find(({ decision }) => decision.decision_key === spec.decision_key)

/** Steps as a template names them: those of another planner by their capability, those that did not run as skipped. */
function stepsAs(template: TaskTemplate, loop: Loop) {
  const read = expressionFacts(loop)
  const finished = finishedSteps(loop.progress)
  const named = template.steps.map(({ id, tool }): readonly [string, Json] => {
    const found =
      finished.find(({ step }) => step === id) ?? finished.findLast(({ call }) => call.capability_id === tool)
    return [id, found === undefined ? { status: 'skipped' } : asStep(found)]
  })
  return { ...read, steps: { ...(read['steps'] as JsonObject), ...Object.fromEntries(named) } }
}

/** The facts that the decision rests on: behind the evidence it requires, and what its rules require. */
export function evidenceUsed(loop: Loop): readonly EvidenceFact[] {
  const calls = committedCalls(loop)
  const required = calls.flatMap((call) => ruleCall(call, loop, true)?.requires ?? [])
  const keys = new Set([...(specOf(loop)?.required_evidence ?? []), ...required])
  return keyStates([...keys], loop).flatMap(({ fact }) => fact ?? [])
}
