import { canonical, type Json } from '../../base/canonical.ts'
import type { DecisionRecord } from '../../model/contract/decision.ts'
import type { InvokeAnswer } from '../../model/requests.ts'
import type { RunEvent } from '../../model/run.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { printColumns, printFields } from '../terminal/table.ts'
import { proposalText } from './print-run.ts'

/** What a request came to, for people: the decision, the steps with what their tools answered, and where to look on. */
export function printAnswer(io: Io, { answer, steps }: { answer: InvokeAnswer; steps: readonly RunEvent[] }): void {
  const { run_id, status, decision_record: record, waits_for } = answer
  const shown = record?.status ?? status.toUpperCase()
  line(io, `${paint(io, colorOf(shown), shown)}  ${plain(record ? titleOf(record) : '')}  ${run_id}`)
  const isOver = waits_for.length === 0
  printFields(io, [
    ['steps', ...steps.map(stepText)],
    ...(record ? recordFields(record) : []),
    ['proposed', ...answer.memory_proposals.map(proposalText)],
    ['waits for', ...waits_for.map((id) => `${id}: ambit approvals show ${id}`)],
    ['then', isOver ? '' : `it goes on at a host that serves; here: ambit runs resume ${run_id}`],
    ['look', `ambit decisions show ${run_id}`, `ambit runs watch ${run_id}`],
    ['proof', `ambit evidence export ${run_id} --records`],
  ])
}

/** One version of a record, for people. */
export function printDecision(io: Io, record: DecisionRecord): void {
  const { status, ambit, record_id, timestamp, agent_identity, trace_id, lineage, record_hash, rationale } = record
  line(io, `${paint(io, colorOf(status), status)}  ${plain(titleOf(record))}  ${record_id}`)
  printFields(io, [
    ['run', ambit.run_id],
    ['version', `${ambit.seq}, ${timestamp}`],
    ['acting', agent_identity.principal_chain.map(({ id }) => id).join(' → ')],
    ['about', ...record.subject_ids],
    ...recordFields(record),
    ['evidence', ...record.evidence_refs],
    ['planned by', rationale.strategy, ...rationale.alternatives_considered.map((each) => `sent back: ${each}`)],
    ['packs', `version ${lineage.pack_version}, snapshot ${lineage.snapshot_version}`],
    ['used', usageText(record)],
    ['trace', trace_id],
    ['hash', record_hash],
    ['proof', `ambit decisions verify ${record_id}`],
  ])
}

export const printDecisions = (io: Io, records: readonly DecisionRecord[]): void =>
  printColumns(io, records, 'none', {
    RECORD: ({ record_id }) => record_id,
    VERSION: ({ ambit }) => String(ambit.seq),
    STATUS: ({ status }) => status,
    DECISION: ({ decision_key }) => decision_key,
    OUTCOME: ({ ambit }) => ambit.decision?.outcome ?? '–',
    WHEN: ({ timestamp }) => timestamp,
  })

const titleOf = ({ decision_key, decision_version, ambit }: DecisionRecord): string =>
  `${decision_key}@${decision_version}${ambit.decision ? `: ${ambit.decision.outcome}` : ''}`

const recordFields = ({ outputs, ambit, controls_active, approvals }: DecisionRecord) =>
  [
    ['outputs', Object.keys(outputs).length > 0 ? canonical(outputs as Json) : ''],
    ['cause', ambit.cause ?? ''],
    ['why', ...new Set(ambit.verdicts.flatMap(({ reasons }) => reasons))],
    [
      'controls',
      ...Object.entries(controls_active).flatMap(([name, ids]) => (ids.length > 0 ? `${name}: ${ids.join(', ')}` : [])),
    ],
    [
      'approved by',
      ...approvals.map(
        ({ approver, gate_id, approval_mode_effective: tier, decided_at }) =>
          `${approver} for ${gate_id}, ${tier}, ${decided_at}`,
      ),
    ],
  ] as const

/** How a step went; a call that has not ended waits for people. */
function stepText({ type, data }: RunEvent): string {
  const { step, tool, status, output, error, approval_id } = data as { readonly [name: string]: Json }
  if (type === 'approval.requested') return `${String(tool)} waits for ${String(approval_id)}`
  const { code = '', message = '' } = (error ?? {}) as { readonly code?: string; readonly message?: string }
  const said = code === '' ? canonical(output ?? null) : `${code}: ${message}`
  return `${String(step)} ${String(tool)} ${String(status)} ${said}`.replace(/\s+/g, ' ').slice(0, 160)
}

const usageText = ({ budget_usage: { tokens, tool_calls, cost_usd_cents, wall_clock_ms } }: DecisionRecord): string =>
  `${tokens} tokens, ${tool_calls} calls, ${cost_usd_cents} cents, ${wall_clock_ms} ms`

const colors = { DECIDED: 'green', CLOSED: 'green', IN_FLIGHT: 'yellow', DEFERRED: 'yellow' } as const

const colorOf = (status: string): 'green' | 'yellow' | 'red' => colors[status as keyof typeof colors] ?? 'red'
