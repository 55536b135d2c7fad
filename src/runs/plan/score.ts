import { quote } from '../../base/failure.ts'
import type { ScoreVerdict } from '../../model/contract/decision.ts'
import { commit, committedCalls } from './commit.ts'
import { evaluate, floorsFailed } from './evaluators.ts'
import { isRuntimeEvidence, keyStates, providedBy } from './evidence.ts'
import type { ExpressionProblem } from './expressions.ts'
import { type LoopFacts, specOf } from './facts.ts'
import type { PlanProgress, Progress, StepAnswer, StepCall } from './progress.ts'
import { callsUsed } from './verify.ts'

/** What is to be judged: an answer that did not go well, a step that cannot be called, or a plan that was carried out. */
export type Judged =
  | { readonly kind: 'answer'; readonly call: StepCall; readonly answer: StepAnswer }
  | { readonly kind: 'unresolved'; readonly problem: ExpressionProblem }
  | { readonly kind: 'done'; readonly plan: PlanProgress }

/** Attempts of a step beyond its first, those within a call counted. */
const stepRetries = 2

export function score(judged: Judged, progress: Progress, facts: LoopFacts): ScoreVerdict {
  if (judged.kind === 'answer') return scoreAnswer(judged, progress, facts)
  if (judged.kind === 'done') return scorePlan(judged.plan, progress, facts)
  const { step, member, message } = judged.problem
  return replan(`step ${quote(step)}: ${quote(member)}: ${message}`, progress, facts)
}

type Verdict = Pick<ScoreVerdict, 'verdict' | 'ok' | 'reasons' | 'cause' | 'limit' | 'used'>

const withScores = (verdict: Verdict, progress: Progress, facts: LoopFacts): ScoreVerdict => ({
  ...verdict,
  scorecard: { scores: Object.fromEntries(evaluate(progress, facts).map((each) => [each.evaluator_id, each.score])) },
})

/** An end without a decision. */
export function escalate(
  cause: string,
  reasons: readonly string[],
  progress: Progress,
  facts: LoopFacts,
  amounts: { readonly limit?: number; readonly used?: number } = {},
): ScoreVerdict {
  return withScores({ verdict: 'escalate', ok: false, cause, reasons: [...reasons], ...amounts }, progress, facts)
}

/** Another plan, while there are replans left. */
function replan(reason: string, progress: Progress, facts: LoopFacts): ScoreVerdict {
  if (progress.replansUsed >= facts.limits.replans) return outOfReplans([reason], progress, facts)
  return withScores({ verdict: 'replan', ok: false, reasons: [reason] }, progress, facts)
}

export const outOfReplans = (reasons: readonly string[], progress: Progress, facts: LoopFacts): ScoreVerdict =>
  escalate('budget_replans', reasons, progress, facts, { limit: facts.limits.replans, used: progress.replansUsed })

export const outOfCalls = (progress: Progress, facts: LoopFacts): ScoreVerdict =>
  escalate('budget_tool_calls', ['no call is left'], progress, facts, amountsOf('budget_tool_calls', progress, facts))

function amountsOf(cause: string, progress: Progress, facts: LoopFacts): { limit?: number; used?: number } {
  const { calls, wallClockMs, costCents } = facts.limits
  if (cause === 'budget_tool_calls') return { limit: calls, used: callsUsed(progress, facts) }
  return (cause === 'budget_wall_clock' ? wallClockMs : cause === 'budget_cost' ? costCents : undefined) ?? {}
}

/** True while the same step may be tried again. What is not known to have had no effect is never repeated. */
export function mayRetry({ attempt }: StepCall, { status, error, retries = 0 }: StepAnswer): boolean {
  if (error?.retryable !== true || error.code === 'outcome_unknown') return false
  return (
    (status === 'failed' || status === 'error' || error.code === 'rate_budget') && attempt - 1 + retries < stepRetries
  )
}

/** True for an answer that a step which may go on without a result goes on after. */
export const mayContinue = ({ error }: StepAnswer): boolean => {
  const code = error?.code ?? ''
  return !(code === 'outcome_unknown' || code.startsWith('budget_') || escalating.has(code) || lapsed.has(code))
}

/** Refusals that another plan does not change. */
const refusedForGood: ReadonlySet<string> = new Set([
  ...['policy_denied', 'policy_eval_error', 'refused_by_control', 'ineligible', 'consent_missing'],
  ...['approval_denied', 'approval_gate_missing', 'egress_denied'],
])
const escalating: ReadonlySet<string> = new Set([
  ...['escalated_by_control', 'approval_expired', 'approval_stale', 'approval_mismatch'],
  ...['safety_blocked', 'invariant_failed', 'resource_scope_violation', 'idempotency_conflict'],
])
const lapsed: ReadonlySet<string> = new Set(['claim_invalid', 'delegation_required', 'delegation_invalid'])
/** The call was right; what it needs is not there. */
const unavailable: ReadonlySet<string> = new Set(['capability_unavailable'])

function scoreAnswer(
  { call, answer }: Extract<Judged, { kind: 'answer' }>,
  progress: Progress,
  facts: LoopFacts,
): ScoreVerdict {
  const { status, error } = answer
  const code = error?.code ?? status
  const reasons = [code, `step ${quote(call.step)}: ${error?.message ?? status}`]
  if (mayRetry(call, answer)) return withScores({ verdict: 'retry', ok: false, reasons }, progress, facts)
  if (floorsFailed(evaluate(progress, facts)).length > 0) return escalate('floor_failed', reasons, progress, facts)
  if (lapsed.has(code)) return escalate('identity_lapsed', reasons, progress, facts)
  if (code === 'outcome_unknown' || code.startsWith('budget_') || escalating.has(code))
    return escalate(code, reasons, progress, facts, amountsOf(code, progress, facts))
  if (code === 'requires_unmet') return escalate(evidenceCause(progress, facts), reasons, progress, facts)
  if (status === 'blocked' && refusedForGood.has(code)) {
    if (committedCalls(progress, facts).length > 0) return escalate(code, reasons, progress, facts)
    return withScores({ verdict: 'accept', ok: false, reasons }, progress, facts)
  }
  if (status === 'rejected' && !unavailable.has(code)) return replan(reasons.join(': '), progress, facts)
  return escalate(failureCause(call, progress, facts), reasons, progress, facts)
}

/** Why evidence does not count: the first key of the spec that does not. */
function evidenceCause(progress: Progress, facts: LoopFacts): string {
  const required = specOf(facts, progress.plans.at(-1))?.required_evidence ?? []
  const states = keyStates(
    required.filter((key) => !isRuntimeEvidence(key)),
    progress,
    facts,
  ).map(({ state }) => state)
  const first = states.find((state) => state !== 'present')
  return first === 'stale' || first === 'conflict' ? `evidence_${first}` : 'evidence_missing'
}

/** A step that failed and was to provide required evidence leaves the decision without it. */
function failureCause({ step: id, capability_id: tool }: StepCall, progress: Progress, facts: LoopFacts): string {
  const required = specOf(facts, progress.plans.at(-1))?.required_evidence ?? []
  const lost = providedBy(facts, { id, tool }).filter((key) => required.includes(key))
  return keyStates(lost, progress, facts).some(({ state }) => state !== 'present') ? 'evidence_missing' : 'step_failed'
}

/** A plan that names no decision is a part of what is to be done, as long as it did anything. */
const isPart = ({ plan, calls }: PlanProgress): boolean =>
  plan?.decision_checkpoints.length === 0 && plan.steps.length > 0 && calls.length > 0

function scorePlan(plan: PlanProgress, progress: Progress, facts: LoopFacts): ScoreVerdict {
  const failed = floorsFailed(evaluate(progress, facts))
  const findings = failed.flatMap((each) => each.findings.map(({ message }) => message))
  if (failed.length > 0) return escalate('floor_failed', findings, progress, facts)
  if (isPart(plan)) return withScores({ verdict: 'replan', ok: true, reasons: ['continue'] }, progress, facts)
  const committed = commit(progress, facts)
  if ('cause' in committed) {
    const { cause, reason } = committed
    if (refusedForGood.has(cause) && committedCalls(progress, facts).length === 0)
      return withScores({ verdict: 'accept', ok: false, reasons: [cause, reason] }, progress, facts)
    return escalate(cause, [reason], progress, facts)
  }
  if (specOf(facts, plan)?.challenge_required && facts.challenge?.status !== 'pass')
    return escalate('challenge_failed', ['no second evaluator passed the decision'], progress, facts)
  return withScores({ verdict: 'accept', ok: true, reasons: [committed.outcome] }, progress, facts)
}
