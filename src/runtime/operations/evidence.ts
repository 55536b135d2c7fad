import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import type { CallRecord, Checkpoint, EvidenceEvent } from '../../model/evidence.ts'
import type { Explanation } from '../../model/requests.ts'
import { listCheckpoints } from '../../storage/tables/checkpoints.ts'
import { eventsOf, getEvent } from '../../storage/tables/events.ts'
import { searchEvidence, showEvent } from '../evidence/export.ts'
import { purgeEvidence } from '../evidence/purge.ts'
import { exportFor } from '../evidence/reading.ts'
import { readerOf } from '../identity/caller.ts'
import { eachItem } from '../pages.ts'
import { type HandlersOf, type OperationContext, timeOf } from './context.ts'

export const evidenceHandlers: HandlersOf<'evidence' | 'explain'> = {
  evidence: {
    list: async ({ ambit, caller }, { limit, cursor, since, until, ...filter }) => {
      const times = { since: timeOf(ambit, since, '/since'), until: timeOf(ambit, until, '/until') }
      const query = defined({ ...filter, ...times })
      const { items, ...next } = await searchEvidence(ambit, caller, query, defined({ limit, cursor }))
      return { events: items.map(eventIn), ...next }
    },
    show: ({ ambit, caller }, { id }) => showEvent(ambit, caller, id),
    export: ({ ambit, caller }, { correlation }) => exportFor(ambit, readerOf(caller), correlation),
    heads: async ({ ambit, caller }, options) => {
      const { items, ...next } = await ambit.store.read(() => listCheckpoints(caller.tenant, defined(options)))
      return { heads: items.map(({ body }) => JSON.parse(body) as Checkpoint), ...next }
    },
    purge: async ({ ambit, caller }, { correlation, before, indeterminate = false, preview = false }) => {
      const age = timeOf(ambit, before, '/before')
      if ((correlation === undefined) === (age === undefined))
        throw new Failure('field.invalid', 'name either `correlation` or `before`', { pointer: '' })
      const wish = correlation === undefined ? { before: age ?? '' } : { correlation }
      const report = await purgeEvidence(ambit, caller, { ...wish, evenIndeterminate: indeterminate }, { preview })
      return { purged: !preview, ...report, kept: [...report.kept] }
    },
  },
  explain,
}

const eventIn = ({ body }: { readonly body: string }): EvidenceEvent => JSON.parse(body)

/** Why a call ended as it did: from its events, nothing guessed. */
async function explain(context: OperationContext, { id }: { readonly id: string }): Promise<Explanation> {
  const events = await eventsOfCall(context, id)
  const [first] = events
  if (first === undefined)
    throw new Failure('event.not_found', `no event and no call ${quote(id)} is on record`, { id })
  const last = events.findLast(({ outcome }) => outcome !== null) ?? first
  const record = events.flatMap(recordIn).findLast(({ basis }) => basis !== undefined)
  const { denial, error } = last
  const { policy } = record ?? {}
  const run = events.flatMap(recordIn).findLast(({ run }) => run !== undefined)?.run
  const asked = events.findLast(({ event_type }) => /^approval_(?:requested|denied)$/.test(event_type))
  const no = asked?.event_type === 'approval_denied' ? asked : undefined
  // After a no there is nothing to wait for.
  const next = no === undefined ? nextOf(denial?.details) : null
  const explained = {
    invocation_id: first.invocation_id,
    capability_id: first.capability_id,
    correlation_id: first.correlation.correlation_id,
    outcome: last.outcome,
    at: last.timestamp,
    subject: last.subject?.id ?? null,
    policy: policy == null ? null : { name: policy.name, version: policy.version, state: policy.state },
    decision: record?.decision ?? null,
    rules: (record?.basis ?? []).map((entry) => ({ ...entry, gate: String(entry.gate) })),
    context: (record?.context ?? []).map(fieldOf),
    approvers: (record?.approval?.approvers ?? []).map(({ name, role }) => ({ name, role })),
    run: run === undefined ? null : { grants: run.grants, mode: run.mode, scopes: run.scopes },
    denied_by: no?.subject?.id ?? null,
    denial: denial == null ? null : { code: denial.code, message: denial.message, next },
    error: error == null ? null : { type: error.type, code: error.code ?? null, effect: error.effect ?? null },
  }
  return { ...explained, sentence: sentenceOf(explained) }
}

async function eventsOfCall({ ambit, caller }: OperationContext, id: string): Promise<readonly EvidenceEvent[]> {
  const found = await ambit.store
    .read(() => getEvent(caller.tenant, id))
    .catch((error: unknown) => {
      if (!(error instanceof Failure && error.code === 'event.not_found')) throw error
    })
  const call = found ?? (await newestOf({ ambit, caller }, id))
  if (call === undefined) return []
  const { correlationId, invocationId } = call
  const rows = await ambit.store.read(() => eventsOf(caller.tenant, correlationId, 0, limits.replayEventsMax))
  return rows.filter((row) => row.invocationId === invocationId).map(eventIn)
}

/** The newest event of a call. Calls have no index of their own: the record is read backwards. */
async function newestOf({ ambit, caller }: Pick<OperationContext, 'ambit' | 'caller'>, invocation: string) {
  for await (const event of eachItem((page) => searchEvidence(ambit, caller, {}, page)))
    if (event.invocationId === invocation) return event
  return undefined
}

const recordIn = ({ payload }: EvidenceEvent): CallRecord[] =>
  'decision' in payload && payload.decision !== undefined ? [payload.decision as CallRecord] : []

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
