import { quote } from '../../base/failure.ts'
import type { ScoreVerdict } from '../../model/contract/decision.ts'
import { commit, committedCalls, evidenceCause, firstLacking } from './commit.ts'
import { evaluate, floorsFailed } from './evaluators.ts'
import { providedBy } from './evidence.ts'
import type { ExpressionProblem } from './expressions.ts'
import { type Loop, specOf } from './facts.ts'
import type { PlanProgress, StepAnswer, StepCall } from './progress.ts'
import { callsUsed } from './verify.ts'

/** What is to be judged: an answer that did not go well, a step that cannot be called, or a plan that was carried out. */
export type Judged =
  | { readonly kind: 'answer'; readonly call: StepCall; readonly answer: StepAnswer }
  | { readonly kind: 'unresolved'; readonly problem: ExpressionProblem }
  | { readonly kind: 'done'; readonly plan: PlanProgress }

/** Attempts of a step beyond its first, those within a call counted. */
const stepRetries = 2

export function score(judged: Judged, loop: Loop): ScoreVerdict {
  if (judged.kind === 'answer') return scoreAnswer(judged, loop)
  if (judged.kind === 'done') return scorePlan(judged.plan, loop)
  const { step, member, message } = judged.problem
  return replan(`step ${quote(step)}: ${quote(member)}: ${message}`, loop)
}

type Verdict = Pick<ScoreVerdict, 'verdict' | 'ok' | 'reasons' | 'cause' | 'limit' | 'used'>

const withScores = (verdict: Verdict, loop: Loop): ScoreVerdict => ({
  ...verdict,
  scorecard: { scores: Object.fromEntries(evaluate(loop).map((each) => [each.evaluator_id, each.score])) },
})

/** An end without a decision. */
export function escalate(
  cause: string,
  reasons: readonly string[],
  loop: Loop,
  amounts: { readonly limit?: number; readonly used?: number } = {},
): ScoreVerdict {
  return withScores({ verdict: 'escalate', ok: false, cause, reasons: [...reasons], ...amounts }, loop)
}

/** Another plan, while there are replans left. */
function replan(reason: string, loop: Loop): ScoreVerdict {
  if (loop.progress.replansUsed >= loop.limits.replans) return outOfReplans([reason], loop)
  return withScores({ verdict: 'replan', ok: false, reasons: [reason] }, loop)
}

export const outOfReplans = (reasons: readonly string[], loop: Loop): ScoreVerdict =>
  escalate('budget_replans', reasons, loop, { limit: loop.limits.replans, used: loop.progress.replansUsed })

export const outOfCalls = (loop: Loop): ScoreVerdict =>
  escalate('budget_tool_calls', ['no call is left'], loop, amountsOf('budget_tool_calls', loop))

function amountsOf(cause: string, loop: Loop): { limit?: number; used?: number } {
  const { calls, wallClockMs, costCents } = loop.limits
  if (cause === 'budget_tool_calls') return { limit: calls, used: callsUsed(loop) }
  return (cause === 'budget_wall_clock' ? wallClockMs : cause === 'budget_cost' ? costCents : undefined) ?? {}
}

/** True while the same step may be tried again. What is not known to have had no effect is never repeated. */
export function mayRetry({ attempt }: StepCall, { status, error, retries = 0 }: StepAnswer): boolean {
  if (error?.retryable !== true || error.code === 'outcome_unknown') return false
  return (
    (status === 'failed' || status === 'error' || error.code === 'rate_budget') && attempt - 1 + retries < stepRetries
  )
}

export const isHardStop = ({ error }: StepAnswer): boolean => error?.code.startsWith('budget_') === true

/** True for an answer that a step which may go on without a result goes on after. */
export const mayContinue = (answer: StepAnswer): boolean => {
  const code = answer.error?.code ?? ''
  return !(code === 'outcome_unknown' || isHardStop(answer) || escalating.has(code) || lapsed.has(code))
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

function scoreAnswer({ call, answer }: Extract<Judged, { kind: 'answer' }>, loop: Loop): ScoreVerdict {
  const { status, error } = answer
  const code = error?.code ?? status
  const reasons = [code, `step ${quote(call.step)}: ${error?.message ?? status}`]
  if (mayRetry(call, answer)) return withScores({ verdict: 'retry', ok: false, reasons }, loop)
  if (floorsFailed(evaluate(loop)).length > 0) return escalate('floor_failed', reasons, loop)
  if (lapsed.has(code)) return escalate('identity_lapsed', reasons, loop)
  if (code === 'outcome_unknown' || isHardStop(answer) || escalating.has(code))
    return escalate(code, reasons, loop, amountsOf(code, loop))
  const required = specOf(loop)?.required_evidence ?? []
  if (code === 'requires_unmet')
    return escalate(evidenceCause(firstLacking(required, loop)?.state ?? 'missing'), reasons, loop)
  if (status === 'blocked' && refusedForGood.has(code)) {
    if (committedCalls(loop).length > 0) return escalate(code, reasons, loop)
    return withScores({ verdict: 'accept', ok: false, reasons }, loop)
  }
  if (status === 'rejected' && code !== 'capability_unavailable') return replan(reasons.join(': '), loop)
  // A step that failed and was to provide required evidence leaves the decision without it.
  const lost = providedBy(loop, { id: call.step, tool: call.capability_id }).filter((key) => required.includes(key))
  const lacking = firstLacking(lost, loop)
  return escalate(lacking === undefined ? 'step_failed' : evidenceCause(lacking.state), reasons, loop)
}

/** A plan that names no decision is a part of what is to be done, as long as it did anything. */
const isPart = ({ plan, calls }: PlanProgress): boolean =>
  plan?.decision_checkpoints.length === 0 && plan.steps.length > 0 && calls.length > 0

function scorePlan(plan: PlanProgress, loop: Loop): ScoreVerdict {
  const failed = floorsFailed(evaluate(loop))
  const findings = failed.flatMap((each) => each.findings.map(({ message }) => message))
  if (failed.length > 0) return escalate('floor_failed', findings, loop)
  if (isPart(plan)) return withScores({ verdict: 'replan', ok: true, reasons: ['continue'] }, loop)
  const committed = commit(loop)
  if ('cause' in committed) {
    const { cause, reason } = committed
    if (refusedForGood.has(cause) && committedCalls(loop).length === 0)
      return withScores({ verdict: 'accept', ok: false, reasons: [cause, reason] }, loop)
    return escalate(cause, [reason], loop)
  }
  if (specOf(loop)?.challenge_required && loop.challenge?.status !== 'pass')
    return escalate('challenge_failed', ['no second evaluator passed the decision'], loop)
  return withScores({ verdict: 'accept', ok: true, reasons: [committed.outcome] }, loop)
}
