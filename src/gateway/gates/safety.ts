import { scrubText } from '../../evidence/redaction/redact.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { type Attempt, type GateAnswer, secretsOf } from '../attempt.ts'
import type { SafetyEvaluator, SafetyVerdict } from '../deps.ts'

/** Gate 10: every call that got here is assessed, and the assessment is evidence, whatever it says. */
export const safetyGate = (attempt: Attempt): GateAnswer =>
  attempt.offer.safety === undefined ? undefined : assess(attempt.offer.safety, attempt)

async function assess(safety: SafetyEvaluator, attempt: Attempt): Promise<Refusal | undefined> {
  attempt.events.push({ type: 'safety_assessment_started' })
  const { approved, level, score, guardrail: named = 'safety' } = await verdictOf(safety, attempt)
  attempt.events.push({ type: 'safety_assessment_completed', payload: { level, score: String(score), approved } })
  if (approved) {
    attempt.events.push({ type: 'safety_action_approved' })
    return undefined
  }
  const guardrail = scrubText(named, secretsOf(attempt))
  attempt.events.push(
    { type: 'safety_guardrail_triggered', payload: { guardrail } },
    { type: 'safety_action_blocked', payload: { guardrail } },
  )
  return refuse('safety', 'safety_blocked', {
    message: `the call was stopped by ${guardrail}`,
    details: { decision: 'deny', guardrail, level },
  })
}

/** An evaluator that fails has not approved. */
async function verdictOf(safety: SafetyEvaluator, { call }: Attempt): Promise<SafetyVerdict> {
  try {
    return await safety(call)
  } catch {
    return { approved: false, level: 'critical', score: 1, guardrail: 'safety_unavailable' }
  }
}
