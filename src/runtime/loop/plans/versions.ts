import { formatTime } from '../../../base/time.ts'
import { version } from '../../../base/version.ts'
import type { Tier } from '../../../model/contract/context.ts'
import type { DecisionRecord, MemoryProposal } from '../../../model/contract/decision.ts'
import type { EventDraft } from '../../../model/evidence.ts'
import type { TenantId } from '../../../model/identity/tenant-id.ts'
import type { RunRecord } from '../../../model/run.ts'
import type { Ending } from '../../../runs/plan/ending.ts'
import { readProgress } from '../../../runs/plan/progress.ts'
import { envelopeHash } from '../../../runs/record/pins.ts'
import { candidatesFrom, consolidate } from '../../../runs/record/proposals.ts'
import { makeRecord, sealRecord } from '../../../runs/record/record.ts'
import { approvalRecords } from '../../../storage/tables/approvals.ts'
import { addVersion, lastVersion, recordIdOf } from '../../../storage/tables/runs/decisions.ts'
import type { Statement } from '../../../storage/work.ts'
import type { RunNode } from '../tree.ts'
import { type Governed, loopFacts, type Stop } from './governed.ts'

/** A version of the record of a run, to be written with the commit that it is about. */
export interface Version {
  readonly record: DecisionRecord
  readonly decision: NonNullable<RunRecord['decision']>
  readonly statement: (tenant: TenantId) => Statement
  readonly draft: EventDraft
  /** What is proposed to memory: nothing of it is written. */
  readonly proposals: readonly MemoryProposal[]
}

/** The next version of the record of a run: as it stands, or as it ended. */
export async function nextVersion(
  node: RunNode,
  governed: Governed,
  end: Ending | 'IN_FLIGHT',
  stop?: Stop,
): Promise<Version> {
  const { tree, record: run } = node
  const { store, tenant, clock } = tree.host.deps
  const record_id = recordIdOf(run.run_id)
  const previous = await store.read(() => lastVersion(tenant, record_id))
  const usage = tree.usageOf(run.run_id)
  const progress = readProgress(tree.journal.eventsOf(run.run_id))
  const made = makeRecord(progress, loopFacts(node, governed, stop), end, {
    ...{ record_id, timestamp: formatTime(clock.now()), seq: (previous?.ambit.seq ?? -1) + 1 },
    budget_usage: {
      tokens: governed.compiled.budget_report.tokens_used_at_compile + usage.input_tokens + usage.output_tokens,
      ...{ tool_calls: usage.tool_calls, cost_usd_cents: usage.cost_cents ?? 0 },
      wall_clock_ms: Math.round(tree.activeMs()),
    },
    approvals: await redeemedIn(node, governed),
    memory_proposal_ids: [],
    ...(tree.root.invoked && {
      pins: { facts_hash: governed.factsHash, envelope_hash: envelopeHash(tree.root.invoked) },
    }),
    release: {
      ...{ runtime: version, model: modelIn(progress.plans.at(-1)?.planner) },
      policy_hash: governed.packs.packs.refs[0]?.hash ?? '',
    },
  })
  const proposals = proposalsFor(made, governed)
  const memory_proposal_ids = proposals.map(({ proposal_id }) => proposal_id)
  const record = sealRecord({ ...made, ambit: { ...made.ambit, memory_proposal_ids } }, previous)
  return written(node, record, proposals)
}

/** The version of a run that a fault has ended: the one before, handed over to people. None where none was written. */
export async function faultVersion(node: RunNode, cause: string): Promise<Version | undefined> {
  const { tree, record: run } = node
  const { store, tenant, clock } = tree.host.deps
  const previous = await store.read(() => lastVersion(tenant, recordIdOf(run.run_id)))
  if (previous === undefined) return undefined
  const { record_hash: _, previous_hash: __, signature: ___, ...rest } = previous
  const ambit = { ...previous.ambit, seq: previous.ambit.seq + 1, cause }
  const made = { ...rest, ambit, status: 'ESCALATED' as const, timestamp: formatTime(clock.now()) }
  return written(node, sealRecord(made, previous), [])
}

function written({ tree, record: run }: RunNode, record: DecisionRecord, proposals: Version['proposals']): Version {
  const { record_id, status, record_hash, ambit } = record
  const payload = { record_id, seq: ambit.seq, status, record_hash, cause: ambit.cause }
  return {
    record,
    decision: { record_id, status, outcome: ambit.decision?.outcome ?? null },
    statement: (of) => addVersion(of, tree.rootId, record),
    proposals,
    draft: tree.draft(run, { event_type: 'ambit.record.written', outcome: 'success', payload }),
  }
}

/** What a decision says of its subjects, as the first pack lets it be proposed. */
function proposalsFor(made: Parameters<typeof candidatesFrom>[0], { packs, context }: Governed) {
  const [pack] = packs.packs.packs
  if (pack === undefined) return []
  const asked = {
    run_id: context.run_id,
    layer: pack.memory_layer,
    consents: {},
    promoted: [],
    rejected: new Set<string>(),
  }
  return consolidate({ ...asked, candidates: candidatesFrom(made) })
}

/** The model of a strategy that names one. */
const modelIn = (strategy = ''): string | null => /^model:(.+)/s.exec(strategy)?.[1] ?? null

/** The approvals that calls of the run were made with, as their rows say it. */
async function redeemedIn({ tree, record }: RunNode, governed: Governed): Promise<DecisionRecord['approvals']> {
  const { store, tenant } = tree.host.deps
  const resolved = tree.journal.eventsOf(record.run_id).filter(({ type }) => type === 'approval.resolved')
  const found = await Promise.all(
    resolved.map(({ data }) => store.read(() => approvalRecords.find(tenant, String(data['approval_id'])))),
  )
  return found.flatMap((stored, index) => {
    const { gate = 'policy', effective = 'destructive', evidence_snapshot } = resolved[index]?.data ?? {}
    if (stored === undefined || stored.request.redeemed_at === null) return []
    return stored.request.votes
      .filter(({ decision }) => decision === 'approve')
      .map(({ approver, decided_at, call_digest }) => ({
        ...{
          gate_id: gateId(String(gate), governed),
          approver,
          decided_at,
          approval_mode_effective: effective as Tier,
        },
        evidence_snapshot_hash: String(evidence_snapshot ?? call_digest) as `sha256:${string}`,
      }))
  })
}

/** A gate by its id, where a rule of the packs has named it. */
function gateId(rule: string, { packs }: Governed): string {
  const [name = ''] = rule.replace(/^.*[/]/, '').split('#')
  const rules = packs.packs.bundles.flatMap(({ policy_dsl }) => policy_dsl.rules)
  return rules.find(({ rule_id }) => rule_id === name)?.then.requires_approval_gate ?? name
}
