import { Failure } from '../../base/failure.ts'
import { recordHash } from '../../evidence/record-hash.ts'
import type { EvidenceFact } from '../../model/contract/compiled.ts'
import type { BudgetUsage, DecisionRecord, RecordStatus } from '../../model/contract/decision.ts'
import { committedCalls, evidenceUsed } from '../plan/commit.ts'
import type { Ending } from '../plan/ending.ts'
import { type Loop, type LoopFacts, specOf, templateOf } from '../plan/facts.ts'
import { ruleCall } from '../plan/modes.ts'
import { isSentBack, type Progress } from '../plan/progress.ts'
import { transcriptsOf } from './pins.ts'

/** What only the driver knows of a version of a record. */
export interface VersionFacts {
  readonly record_id: string
  readonly timestamp: string
  readonly seq: number
  readonly budget_usage: BudgetUsage
  /** Approvals that were redeemed. */
  readonly approvals: DecisionRecord['approvals']
  readonly memory_proposal_ids: readonly string[]
  readonly release: { readonly runtime: string; readonly model: string | null; readonly policy_hash: string }
  readonly checkpoint_id?: string
  /** What a replay of the run is held to. */
  readonly pins?: { readonly facts_hash: string; readonly envelope_hash: `sha256:${string}` }
}

export type UnsealedRecord = Omit<DecisionRecord, 'record_hash' | 'previous_hash' | 'signature'>

/** The record of a run as it stands, or as it ended. */
export function makeRecord(
  progress: Progress,
  facts: LoopFacts,
  end: Ending | 'IN_FLIGHT',
  version: VersionFacts,
): UnsealedRecord {
  const loop = { ...facts, progress }
  const { context, compiled, request, packs } = loop
  const last = progress.plans.at(-1)
  const spec = specOf(loop) ?? loop.known.specs[0]
  const { agent, session_id } = context
  const ending = end === 'IN_FLIGHT' ? undefined : end
  const used = evidenceUsed(loop)
  const strategy = last?.planner ?? 'none'
  return {
    ...{ record_id: version.record_id, timestamp: version.timestamp, status: ending?.record_status ?? 'IN_FLIGHT' },
    ...{ decision_key: spec?.decision_key ?? request.intent, decision_version: spec?.version ?? '0.0.0' },
    actor: { type: 'AGENT', id: agent.agent_urn },
    agent_identity: {
      subject: agent.identity_claim.sub,
      claim_hash: agent.identity_claim.claim_hash,
      principal_chain: agent.principal_chain,
    },
    intent_ref: request.intent,
    subject_ids: subjectIds(loop),
    inputs_refs: { request: request.request_id, ...(session_id !== undefined && { session: session_id }) },
    outputs: (ending?.record_status === 'DECIDED' ? ending.outputs : {}) as DecisionRecord['outputs'],
    evidence_refs: evidenceRefs(used, loop),
    policy_decisions: policyDecisions(progress),
    approvals: version.approvals,
    controls_active: controlsActive(loop),
    confidence: confidenceOf(used),
    rationale: { strategy, alternatives_considered: alternatives(progress) },
    budget_usage: version.budget_usage,
    lineage: {
      pack_version: packs.packs.packs[0]?.pack_meta.pack_version ?? '0.0.0',
      snapshot_version: compiled.context_ledger.ambit.snapshot_version,
    },
    trace_id: context.trace_id,
    ambit: {
      ...{ seq: version.seq, run_id: context.run_id, verdicts: [...progress.verdicts] },
      scorecard: (last?.score ?? progress.early)?.scorecard ?? null,
      decision:
        ending?.outcome === undefined || spec === undefined
          ? null
          : decisionOutput(spec.decision_key, ending.outcome, used),
      cause: ending?.cause ?? null,
      checkpoint_id: version.checkpoint_id ?? progress.checkpointId ?? null,
      compiled_context_hash: compiled.context_ledger.compiled_context_hash,
      memory_proposal_ids: [...version.memory_proposal_ids],
      release: { ...version.release, planner: strategy, template: templateName(last && templateOf(loop, last)) },
      ...(version.pins && {
        pins: { ...version.pins, transcripts: transcriptsOf(progress).map(({ hash }) => hash) },
      }),
    },
  }
}

const templateName = (template: { readonly template_id: string; readonly version: string } | undefined) =>
  template ? `${template.template_id}@${template.version}` : null

const decisionOutput = (decision_id: string, outcome: string, used: readonly EvidenceFact[]) => ({
  ...{ decision_id, outcome, evidence_refs: used.map(({ evidence_ref }) => evidence_ref) },
})

/** Members of the request that name an entity of the pack's namespaces: `batch_id` for `batch`. */
function subjectIds({ packs, request: { context = {} } }: LoopFacts): string[] {
  const namespaces = packs.packs.packs.flatMap(({ intelligence_refs }) => intelligence_refs.ceid_namespaces)
  return [...new Set(namespaces)].flatMap((name) => {
    const id = Object.hasOwn(context, `${name}_id`) ? context[`${name}_id`] : undefined
    return typeof id === 'string' ? [`${name}:${id}`] : []
  })
}

/** What the decision rests on, and the rules that allowed what was done. */
function evidenceRefs(used: readonly EvidenceFact[], loop: Loop): string[] {
  const matched = committedCalls(loop).flatMap((call) => ruleCall(call, loop, true)?.matched ?? [])
  return [...new Set([...used.map(({ evidence_ref }) => evidence_ref), ...matched.map((rule) => `policy:${rule}`)])]
}

const answersIn = ({ plans }: Progress) => plans.flatMap(({ calls }) => calls.flatMap(({ answer }) => answer ?? []))

const policyDecisions = (progress: Progress): DecisionRecord['policy_decisions'] =>
  answersIn(progress).flatMap(({ policy_decision_id: id, rule_ids = [] }) =>
    id ? [{ policy_decision_id: id, rule_ids: [...rule_ids] }] : [],
  )

/** Those of the compile, and each that fired later: in a verdict, or at the gateway. */
function controlsActive({ compiled, packs, progress }: Loop): DecisionRecord['controls_active'] {
  const said = progress.verdicts.flatMap((verdict) =>
    'kind' in verdict && verdict.kind === 'refused_by_control' ? verdict.reasons.slice(0, 1) : [],
  )
  const answered = answersIn(progress).flatMap(({ error }) => error?.rule_id?.replace(/^pack\//, '') ?? [])
  const fired = new Set([...said, ...answered])
  const { runtime_controls: at } = compiled
  const { mustRefuse, mustEscalate, gates } = packs.packs
  const joined = (before: readonly string[], ids: readonly string[]) => [
    ...new Set([...before, ...ids.filter((id) => fired.has(id))]),
  ]
  return {
    must_refuse: joined(
      at.must_refuse,
      mustRefuse.map(({ rule_id }) => rule_id),
    ),
    must_escalate: joined(
      at.must_escalate,
      mustEscalate.map(({ rule_id }) => rule_id),
    ),
    approval_gates_active: joined(
      at.approval_gates_active,
      gates.map(({ gate_id }) => gate_id),
    ),
    redaction_rules_active: [...at.redaction_rules_active],
  }
}

const confidences = { authoritative: 1, verified: 0.9, asserted: 0.5, untrusted: 0 } as const

/** That of the weakest fact the decision rests on, by its authority; without any 0. */
const confidenceOf = (used: readonly Pick<EvidenceFact, 'authority'>[]): number =>
  used.length === 0 ? 0 : Math.min(...used.map(({ authority }) => confidences[authority]))

const alternatives = ({ plans }: Progress): string[] =>
  plans.filter(isSentBack).map(({ planner, plan }) => `${planner} ${plan?.plan_id ?? 'without a plan'}`)

const moves: Readonly<Record<RecordStatus, readonly RecordStatus[]>> = {
  IN_FLIGHT: ['DECIDED', 'DEFERRED', 'REJECTED', 'ESCALATED'],
  DECIDED: ['CLOSED'],
  REJECTED: ['CLOSED'],
  DEFERRED: ['IN_FLIGHT', 'DECIDED', 'REJECTED', 'ESCALATED'],
  ESCALATED: ['IN_FLIGHT', 'DECIDED', 'REJECTED', 'CLOSED'],
  CLOSED: [],
}

/** Whether a record may go from one status to the other. Every record begins in flight. */
export const mayMove = (from: RecordStatus | undefined, to: RecordStatus): boolean =>
  from === undefined ? to === 'IN_FLIGHT' : moves[from].includes(to)

/** The next version of a record, chained to the one before. A move that there is not is `record.move_invalid`. */
export function sealRecord(record: UnsealedRecord, previous: DecisionRecord | undefined): DecisionRecord {
  // A run that pauses writes a version and stays where it is.
  const stays = record.status === 'IN_FLIGHT' && previous?.status === 'IN_FLIGHT'
  if (!stays && !mayMove(previous?.status, record.status)) {
    const from = previous?.status ?? null
    throw new Failure('record.move_invalid', `a record does not move from ${from ?? 'nothing'} to ${record.status}`, {
      ...{ from, to: record.status },
    })
  }
  const linked = { ...record, previous_hash: previous?.record_hash ?? null }
  return { ...linked, record_hash: recordHash(linked) }
}
