import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import type { CallRecord, EvidenceEvent } from '../../model/evidence.ts'
import type { Explanation } from '../../model/requests.ts'
import { eventsOf, getEvent } from '../../storage/tables/events.ts'
import { searchEvidence } from '../evidence/export.ts'
import type { OperationContext } from './context.ts'

/** Why a call ended as it did: from its events, nothing guessed. */
export async function explain(context: OperationContext, { id }: { readonly id: string }): Promise<Explanation> {
  const events = await eventsOfCall(context, id)
  const [first] = events
  if (first === undefined)
    throw new Failure('event.not_found', `no event and no call ${quote(id)} is on record`, { id })
  const last = events.findLast(({ outcome }) => outcome !== null) ?? first
  const record = events.flatMap(recordIn).findLast(({ basis }) => basis !== undefined)
  const { denial, error } = last
  const explained = {
    invocation_id: first.invocation_id,
    capability_id: first.capability_id,
    correlation_id: first.correlation.correlation_id,
    outcome: last.outcome,
    at: last.timestamp,
    subject: last.subject?.id ?? null,
    policy: record?.policy == null ? null : policyOf(record.policy),
    decision: record?.decision ?? null,
    rules: (record?.basis ?? []).map((entry) => ({ ...entry, gate: String(entry.gate) })),
    context: (record?.context ?? []).map(fieldOf),
    approvers: (record?.approval?.approvers ?? []).map(({ name, role }) => ({ name, role })),
    denial: denial == null ? null : { code: denial.code, message: denial.message, next: nextOf(denial.details) },
    error: error == null ? null : { type: error.type, code: error.code ?? null, effect: error.effect ?? null },
  }
  return { ...explained, sentence: sentenceOf(explained) }
}

async function eventsOfCall({ ambit, caller }: OperationContext, id: string): Promise<readonly EvidenceEvent[]> {
  const found = await ambit.store.read(() => getEvent(caller.tenant, id)).catch(unlessMissing)
  const call = found ?? (await newestOf({ ambit, caller }, id))
  if (call === undefined) return []
  const { correlationId, invocationId } = call
  const rows = await ambit.store.read(() => eventsOf(caller.tenant, correlationId, 0, limits.replayEventsMax))
  return rows.filter((row) => row.invocationId === invocationId).map(({ body }) => JSON.parse(body) as EvidenceEvent)
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof Failure && error.code === 'event.not_found')) throw error
}

/** The newest event of a call. Calls have no index of their own: the record is read backwards. */
async function newestOf({ ambit, caller }: Pick<OperationContext, 'ambit' | 'caller'>, invocation: string) {
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await searchEvidence(ambit, caller, {}, defined({ limit: limits.pageRowsMax, cursor }))
    const found = items.find(({ invocationId }) => invocationId === invocation)
    if (found !== undefined || next === undefined) return found
    cursor = next
  }
}

const recordIn = ({ payload }: EvidenceEvent): CallRecord[] =>
  'decision' in payload && payload.decision !== undefined ? [payload.decision as CallRecord] : []

const policyOf = ({ name, version, state }: NonNullable<CallRecord['policy']>) => ({ name, version, state })

const fieldOf = ({ name, state, value, digest }: NonNullable<CallRecord['context']>[number]) => ({
  name,
  state,
  shown: value === undefined ? (digest ?? '') : JSON.stringify(value),
})

const nextOf = (details: Readonly<Record<string, unknown>> | null | undefined): string | null => {
  const next = details?.['required_next_action']
  return typeof next === 'string' ? next : null
}

function sentenceOf({ capability_id, outcome, denial, error, rules, policy }: Omit<Explanation, 'sentence'>): string {
  const rule = rules.at(-1)
  const by = rule === undefined ? '' : ` by \`${rule.rule}\` at gate ${rule.gate}`
  const under = policy === null ? '' : ` under ${quote(policy.name)} version ${policy.version}`
  if (denial !== null) return `${quote(capability_id)} was refused${by}${under}: ${denial.message} (${denial.code})`
  const why = error === null ? '' : `, ${error.type}${error.code === null ? '' : ` (${error.code})`}`
  return `${quote(capability_id)} was allowed${by}${under} and ended as ${outcome ?? 'not ended'}${why}`
}
