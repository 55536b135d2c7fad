import type { Json } from '../base/canonical.ts'
import type { RunError } from '../model/run-id.ts'
import type { InvocationResult } from '../model/wire/result.ts'

/** What a call of a run came to, in the words of a run. One that is `paused` has no answer yet. */
export interface ToolAnswer {
  readonly status: 'ok' | 'completed' | 'paused' | 'blocked' | 'rejected' | 'failed' | 'error'
  readonly output: Json
  /** `rule_id` names what refused the call, as its record in evidence does. */
  readonly error: (RunError & { readonly retryable?: boolean; readonly rule_id?: string }) | null
}

type AnswerStatus = ToolAnswer['status']

/** The answer of the gateway as a tool result. `effects` says whether the capability declares any. */
export function answerOf({ outcome, data, denial, error }: InvocationResult, effects: boolean): ToolAnswer {
  if (outcome === 'success') return { status: effects ? 'completed' : 'ok', output: data ?? null, error: null }
  if (denial != null) {
    const { details = {} } = denial
    const [status, code] = refusalOf(denial.code, details)
    const { matched_rule: rule = `gate/${details['reason'] ?? denial.code}` } = details
    return refused(status, code, denial.message, denial.retryable ?? false, { rule_id: String(rule) })
  }
  if (outcome === 'indeterminate' && error?.effect !== 'none')
    return refused('error', 'outcome_unknown', error?.message ?? 'it is unknown whether the call took effect', false)
  const code = error?.code ?? 'adapter_error'
  return refused(failureStatus(code), code, error?.message ?? 'the call failed', tryAgain.has(code))
}

const refused = (status: AnswerStatus, code: string, message: string, retryable: boolean, rule = {}): ToolAnswer => ({
  status,
  output: null,
  error: { code, message, retryable, ...rule },
})

/** Words of the wire in those of a run; all others stay as they are, `blocked`. */
const refusals: Readonly<Record<string, readonly [AnswerStatus, string]>> = {
  capability_not_found: ['rejected', 'capability_unsurfaced'],
  capability_version_unsupported: ['rejected', 'capability_unsurfaced'],
  capability_disabled: ['rejected', 'capability_unavailable'],
  input_schema_validation_failed: ['rejected', 'args_invalid'],
  output_schema_validation_failed: ['error', 'output_invalid'],
  mandate_invalid: ['rejected', 'delegation_invalid'],
  mandate_exhausted: ['rejected', 'delegation_invalid'],
  policy_error: ['blocked', 'policy_eval_error'],
  evidence_required: ['blocked', 'requires_unmet'],
  escalation_required: ['blocked', 'escalated_by_control'],
  approval_required: ['paused', 'approval_pending'],
}

const ofAuthority =
  /^(?:grant_|resource_|entitlement_|scope|key_scope|delegation_|claim_|arg_constraint|mode_above_highest|approval_mode_mismatch|idempotency_key_invalid)/

/** What packs and tiers demand, in the words of a run already. */
const demanded: ReadonlySet<string> = new Set([
  ...['ineligible', 'requires_unmet', 'policy_eval_error', 'approval_gate_missing', 'egress_denied', 'rate_budget'],
])

function refusalOf(
  code: string,
  { reason, budget, measure, limit }: { readonly [member: string]: unknown },
): readonly [AnswerStatus, string] {
  const known = refusals[code]
  if (known !== undefined) return known
  if (code === 'budget_exceeded') {
    if (limit === 'deadline') return ['blocked', 'budget_wall_clock']
    return ['blocked', budget === 'run' ? (budgetWords[String(measure)] ?? 'budget_tool_calls') : 'budget_host']
  }
  if (code !== 'policy_blocked') return ['blocked', code]
  if (typeof reason !== 'string') return ['blocked', 'policy_denied']
  if (reason === 'invocation_id_reused' || reason === 'idempotency_conflict')
    return ['rejected', 'idempotency_conflict']
  if (reason === 'call_in_flight') return ['paused', reason]
  if (reason === 'outcome_unknown') return ['error', reason]
  if (reason.startsWith('approval_') || demanded.has(reason)) return ['blocked', reason]
  return ofAuthority.test(reason) ? ['rejected', reason] : ['blocked', 'policy_denied']
}

const budgetWords: Readonly<Record<string, string>> = { calls: 'budget_tool_calls', cost: 'budget_cost' }

/** Refusals of a child run come from the handler that starts it: the call itself was wrong. */
const rejected =
  /^(?:grant_|run_depth_exceeded$|(?:args|id)_invalid$|resource_(?:read_only|ceiling|scope_denied)$|agent_not_found$|scratchpad_limit$|session_busy$)/
const failed = /^(?:timeout|cancelled|interrupted|resource_provider_(?:failed|timeout))$/

function failureStatus(code: string): AnswerStatus {
  if (rejected.test(code)) return 'rejected'
  return failed.test(code) ? 'failed' : 'error'
}

const tryAgain: ReadonlySet<string> = new Set([
  'timeout',
  'interrupted',
  'memory_conflict',
  'resource_provider_timeout',
])
