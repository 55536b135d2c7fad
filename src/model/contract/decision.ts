// How a run of the loop is judged and what it comes to: verdicts, decision record, checkpoint, proposals, replay packet.

import { z } from 'zod'
import { objectDigest, ownTime, signatureText } from '../evidence.ts'
import { jsonObject, jsonValue } from '../json.ts'
import { runId, traceId } from '../run-id.ts'
import { form, minted } from '../text.ts'
import { contractId, principalLink, tier } from './context.ts'
import { writeClass } from './pack.ts'
import { plan } from './plan.ts'

const count = z.int().min(0)
const texts = z.array(z.string())
const fraction = z.number().min(0).max(1)
const reasons = z.array(z.string().max(4_000))

export const verifyKinds = [
  ...([
    'missing_evidence',
    'approval_mode_mismatch',
    'violates_decision_spec',
    'loop_guard',
    'budget_exceeded',
  ] as const),
  ...(['unsurfaced_capability', 'refused_by_control', 'policy_denied', 'plan_invalid'] as const),
] as const

/** Whether a plan may be carried out. The kind is that of the first check that failed. */
export const verifyVerdict = z.discriminatedUnion('verdict', [
  z.strictObject({ verdict: z.literal('ok'), reasons }),
  z.strictObject({
    verdict: z.enum(['replan', 'reject']),
    kind: z.enum(verifyKinds),
    reasons,
    offending_step: z.string().optional(),
  }),
])
export type VerifyVerdict = z.infer<typeof verifyVerdict>
export type VerifyKind = (typeof verifyKinds)[number]

const scorecard = z.strictObject({ scores: z.record(z.string(), fraction) })

/** What follows from what was done. `ok` of an `accept` tells a decision from a refusal for good. */
export const scoreVerdict = z.strictObject({
  verdict: z.enum(['accept', 'retry', 'replan', 'escalate']),
  ok: z.boolean(),
  scorecard,
  reasons,
  cause: z.string().optional(),
  limit: z.number().min(0).optional(),
  used: z.number().min(0).optional(),
  checkpoint_id: z.string().optional(),
})
export type ScoreVerdict = z.infer<typeof scoreVerdict>

export const evaluatorVerdict = z.strictObject({
  evaluator_id: z.enum(['policy', 'utility', 'latency', 'safety', 'cost']),
  evaluator_version: z.string(),
  score: fraction,
  status: z.enum(['pass', 'warn', 'fail']),
  findings: z.array(
    z.strictObject({
      severity: z.enum(['info', 'warn', 'error']),
      message: z.string(),
      evidence_ref: z.string().optional(),
    }),
  ),
  trace_id: traceId,
})
export type EvaluatorVerdict = z.infer<typeof evaluatorVerdict>

const decisionOutput = z.strictObject({
  decision_id: contractId,
  outcome: contractId,
  evidence_refs: texts,
})

export const recordStatus = z.enum(['IN_FLIGHT', 'DECIDED', 'DEFERRED', 'REJECTED', 'ESCALATED', 'CLOSED'])
export type RecordStatus = z.infer<typeof recordStatus>

const controls = z.strictObject({
  must_refuse: texts,
  must_escalate: texts,
  approval_gates_active: texts,
  redaction_rules_active: texts,
})

const recordApproval = z.strictObject({
  gate_id: z.string(),
  approver: z.string(),
  approval_mode_effective: tier,
  evidence_snapshot_hash: objectDigest,
  decided_at: ownTime,
})

const budgetUsage = z.strictObject({
  tokens: count,
  tool_calls: count,
  cost_usd_cents: z.number().min(0),
  wall_clock_ms: count,
})
export type BudgetUsage = z.infer<typeof budgetUsage>

const recordId = form(/^dr_[A-Za-z0-9]{1,64}$/u, '`dr_` and letters or digits')

/** One version of how a run stands or ended. A move is a new version; none is changed. */
export const decisionRecord = z.strictObject({
  record_id: recordId,
  decision_key: contractId,
  decision_version: z.string(),
  timestamp: ownTime,
  status: recordStatus,
  actor: z.strictObject({ type: z.enum(['AGENT', 'USER', 'SERVICE', 'SYSTEM']), id: z.string() }),
  agent_identity: z.strictObject({
    subject: z.string(),
    claim_hash: objectDigest,
    principal_chain: z.array(principalLink),
  }),
  intent_ref: contractId,
  subject_ids: texts,
  inputs_refs: z.strictObject({ request: z.string(), session: z.string().optional() }),
  outputs: jsonObject,
  evidence_refs: texts,
  policy_decisions: z.array(z.strictObject({ policy_decision_id: z.string(), rule_ids: texts })),
  approvals: z.array(recordApproval),
  controls_active: controls,
  confidence: fraction,
  rationale: z.strictObject({ strategy: z.string(), alternatives_considered: texts }),
  budget_usage: budgetUsage,
  lineage: z.strictObject({ pack_version: z.string(), snapshot_version: z.string() }),
  trace_id: traceId,
  record_hash: objectDigest,
  previous_hash: objectDigest.nullable(),
  signature: signatureText.optional(),
  ambit: z.strictObject({
    seq: count,
    run_id: runId,
    verdicts: z.array(z.union([verifyVerdict, scoreVerdict])),
    scorecard: scorecard.nullable(),
    decision: decisionOutput.nullable(),
    cause: z.string().nullable(),
    checkpoint_id: z.string().nullable(),
    compiled_context_hash: objectDigest,
    memory_proposal_ids: texts,
    release: z.strictObject({
      runtime: z.string(),
      planner: z.string(),
      model: z.string().nullable(),
      policy_hash: objectDigest,
      template: z.string().nullable(),
    }),
    pins: z
      .strictObject({
        facts_hash: z.string(),
        envelope_hash: objectDigest,
        transcripts: z.array(objectDigest).describe('Of each plan and each answer in order, with all before it.'),
      })
      .optional()
      .describe('What a replay of the run is held to.'),
  }),
})
export type DecisionRecord = z.infer<typeof decisionRecord>

/** What it takes to go on with a run: references, no copies. */
export const runCheckpoint = z.strictObject({
  checkpoint_id: minted('ckp'),
  session_id: z.string().nullable(),
  run_id: runId,
  trace_context: z.strictObject({ traceparent: z.string(), tracestate: z.string(), baggage: z.string() }),
  seq: count,
  pack_refs: texts,
  snapshot_version: z.string(),
  compiled_context_hash: objectDigest,
  plan: plan.shape.plan_id.nullable().describe('The plan that is carried out, by its id.'),
  cursor: z.string().nullable().describe('The step that comes next.'),
  completed: z.record(z.string(), z.string()),
  pending_approvals: texts,
  replan_count: count,
  budget_used: budgetUsage,
  controls,
  last_verdict: z.union([verifyVerdict, scoreVerdict]).nullable(),
  heartbeat_at: ownTime,
  expires_at: ownTime,
  status: z.enum(['open', 'resumed', 'closed', 'expired']),
  resume_token: z.string(),
  prev_hash: objectDigest.nullable(),
})

export const memoryProposal = z.strictObject({
  proposal_id: minted('mp'),
  candidate: z.strictObject({
    entity_ceid: z.string(),
    predicate: z.string(),
    value: jsonValue,
    evidence_refs: texts,
    confidence: fraction,
  }),
  class: writeClass,
  tier_target: z.enum(['working', 'episodic', 'semantic', 'durable']),
  consent_check: z.enum(['granted', 'missing', 'withdrawn', 'not_required']),
  contradiction_check: z.strictObject({
    existing: z.string().nullable(),
    verdict: z.enum(['none', 'duplicate', 'contradicts', 'supersedes']),
  }),
  auto_promote_eligible: z.boolean(),
  state: z.enum(['candidate', 'queued', 'promoted', 'rejected']),
  ambit: z
    .strictObject({
      run_id: runId.optional(),
      scope: z.string().optional(),
      change: z.enum(['write', 'correct', 'forget', 'promote']).optional(),
      similar: texts.optional(),
      decided_by: z.string().optional(),
      decided_at: ownTime.optional(),
      expires_at: ownTime.optional(),
    })
    .optional(),
})
export type MemoryProposal = z.infer<typeof memoryProposal>

export const replayPacket = z.strictObject({
  replay_packet_id: minted('rp'),
  trace_id: traceId,
  session_id: z.string().optional(),
  source_kind: z.enum([
    ...(['decision_record', 'quality_replay_case', 'environment_episode'] as const),
    ...(['operator_correction', 'golden_case'] as const),
  ]),
  source_ref: z.string(),
  context_pack_ref: z.string(),
  compiled_context_hash: objectDigest,
  side_effect_policy: z.enum(['transcript_only', 'sandbox', 'live_disallowed']),
  expected: z.strictObject({
    status: recordStatus,
    decision_record_hash: objectDigest.optional(),
    scorecard: scorecard.optional(),
    properties: texts.optional(),
  }),
  run_context_ref: z.string().optional(),
  knowledge_snapshot_ref: z.string().optional(),
  tool_transcript_chain_hash: objectDigest.optional(),
  latest_result: z
    .strictObject({
      status: z.enum([
        ...(['not_run', 'replay_equal', 'replay_mismatch', 'fixed', 'still_failing'] as const),
        ...(['invalid', 'superseded'] as const),
      ]),
      eval_run_id: z.string(),
      score: fraction,
      diff_refs: texts,
      updated_at: ownTime,
    })
    .optional(),
})

/** What an operator says of a record. Nothing follows from it by itself. */
export const feedbackRecord = z.strictObject({
  feedback_id: minted('fb'),
  kind: z.string().max(64),
  context: jsonObject,
  operator: z.string(),
  correction: jsonObject,
  applied_to_record: recordId,
  evidence_refs: texts,
  captured_at: ownTime,
})
