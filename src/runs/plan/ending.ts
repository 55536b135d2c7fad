import type { JsonObject } from '../../base/object.ts'
import type { RecordStatus, ScoreVerdict, VerifyVerdict } from '../../model/contract/decision.ts'
import type { RunStatus } from '../../model/run.ts'
import { outcomeOf } from './commit.ts'
import { type Loop, specOf } from './facts.ts'

/** How a run ended: its record, its status, and by what. */
export interface Ending {
  readonly record_status: Exclude<RecordStatus, 'IN_FLIGHT' | 'CLOSED'>
  readonly run_status: Extract<RunStatus, 'completed' | 'failed' | 'cancelled'>
  readonly outcome?: string
  readonly outputs: JsonObject
  readonly cause?: string
  readonly limit?: number
  readonly used?: number
  readonly reasons: readonly string[]
}

/** The end of a run that has come to one: by its last verdict, by a control, by its caller. */
export function endingOf(loop: Loop): Ending | undefined {
  const { score = loop.progress.early, verify } = loop.progress.plans.at(-1) ?? {}
  if (score?.verdict === 'accept') return accepted(score, loop)
  if (score?.verdict === 'escalate') return escalated(score, loop)
  const rejected = verify?.verdict === 'reject' && verify.kind !== 'budget_exceeded' ? verify : undefined
  if (rejected !== undefined) return rejectedBy(rejected, loop)
  return controlled(loop) ?? (loop.cancelled ? cancelled : undefined)
}

const cancelled: Ending = {
  ...{ record_status: 'DEFERRED', run_status: 'cancelled', outputs: {}, cause: 'cancelled', reasons: ['cancelled'] },
}

/** A control that fired at compile ends the run before any plan. */
function controlled(loop: Loop): Ending | undefined {
  const { must_refuse, must_escalate } = loop.compiled.runtime_controls
  if (must_refuse.length > 0) return refused('refused_by_control', must_refuse, loop)
  return must_escalate.length > 0 ? handedOver(must_escalate, loop) : undefined
}

/** Nothing was committed, and nothing will be: the outcome is the one that the spec has for it. */
function refused(cause: string, reasons: readonly string[], loop: Loop): Ending {
  const outcome = specOf(loop)?.outcome_map?.denied
  return { ...ended('REJECTED', reasons), cause, ...(outcome !== undefined && { outcome }) }
}

function handedOver(reasons: readonly string[], loop: Loop): Ending {
  const outcome = specOf(loop)?.outcome_map?.escalated
  return { ...ended('ESCALATED', reasons), cause: 'escalated_by_control', ...(outcome !== undefined && { outcome }) }
}

const ended = (record_status: Ending['record_status'], reasons: readonly string[]): Ending => ({
  ...{ record_status, run_status: 'completed', outputs: {}, reasons: [...reasons] },
})

function accepted({ ok, reasons }: ScoreVerdict, loop: Loop): Ending {
  const spec = specOf(loop)
  const decided = ok && spec ? outcomeOf(spec, loop) : undefined
  if (decided === undefined || 'cause' in decided) return refused(reasons[0] ?? 'refused', reasons, loop)
  return { ...ended('DECIDED', reasons), outcome: decided.outcome, outputs: decided.outputs }
}

/** More could still be known: the decision waits. */
const deferring: ReadonlySet<string> = new Set([
  ...['evidence_missing', 'evidence_stale', 'evidence_conflict', 'outcome_unknown', 'dependency_pending'],
])

const hardStops: ReadonlySet<string> = new Set([
  ...['budget_tokens', 'budget_tool_calls', 'budget_replans', 'budget_wall_clock', 'budget_cost', 'plan_timeout'],
  ...['session_expired', 'heartbeat_missed'],
])

function escalated(score: ScoreVerdict, loop: Loop): Ending {
  const { cause = 'escalated', limit, used, reasons } = score
  if (cause === 'escalated_by_control') return handedOver(reasons, loop)
  return {
    ...ended(deferring.has(cause) ? 'DEFERRED' : 'ESCALATED', reasons),
    run_status: hardStops.has(cause) ? 'failed' : 'completed',
    ...{ cause, ...(limit !== undefined && { limit }), ...(used !== undefined && { used }) },
  }
}

function rejectedBy({ kind, reasons }: Extract<VerifyVerdict, { verdict: 'replan' | 'reject' }>, loop: Loop): Ending {
  if (kind === 'missing_evidence') return { ...ended('DEFERRED', reasons), cause: 'evidence_missing' }
  if (kind === 'loop_guard') return { ...ended('ESCALATED', reasons), cause: kind }
  const escalates = loop.packs.packs.mustEscalate.some(({ rule_id }) => rule_id === reasons[0])
  if (kind === 'refused_by_control' && escalates) return handedOver(reasons, loop)
  return refused(kind, reasons, loop)
}
