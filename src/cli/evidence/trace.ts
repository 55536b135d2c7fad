import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import type { CallRecord, EvidenceEvent } from '../../model/evidence.ts'
import type { RunRecord } from '../../model/run.ts'
import type { Operable } from '../../operations/ambit.ts'
import { wholeList } from '../../runtime/pages.ts'
import { hiddenIn } from '../runs/print-run.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { type Field, printFields } from '../terminal/table.ts'

/** All of one task in its order, by the id of the task or of one of its calls. */
export async function taskEvents(ambit: Operable, id: string): Promise<readonly EvidenceEvent[]> {
  const events = await eventsIn(ambit, id)
  if (events.length > 0) return events
  const call = await ambit.explain(id).catch((error: unknown) => {
    if (!(error instanceof Failure && error.code === 'event.not_found')) throw error
    throw new Failure('correlation.not_found', `no task and no call ${quote(id)} is on record`, { id })
  })
  return eventsIn(ambit, call.correlation_id)
}

async function eventsIn(ambit: Operable, correlation: string): Promise<readonly EvidenceEvent[]> {
  const newestFirst = await wholeList(async (page) => {
    const { events, next } = await ambit.evidence.list({ correlation, ...page })
    return defined({ items: events, next })
  })
  return newestFirst.toReversed()
}

/** The requests that people said no to, as far as they are still kept: evidence holds who, they hold why. */
export async function deniedIn(ambit: Operable, events: readonly EvidenceEvent[]): Promise<readonly ApprovalRequest[]> {
  const ids = events.flatMap(({ event_type, payload }) =>
    event_type === 'approval_denied' && 'approval_id' in payload ? [String(payload['approval_id'])] : [],
  )
  const found = await Promise.allSettled(ids.map((id) => ambit.approvals.show(id)))
  return found.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}

/** The calls of a correlation as people ask about them: who, what, where, by which rule, with which facts, how it ended. */
export function printTrace(io: Io, events: readonly EvidenceEvent[], denied: readonly ApprovalRequest[]): void {
  const calls = Map.groupBy(events, callOf).values()
  for (const [index, call] of [...calls].entries()) {
    if (index > 0) line(io)
    printCall(io, call, denied)
  }
}

/** What was found out about a call later has an id of its own, and belongs to that call all the same. */
const callOf = ({ invocation_id, payload }: EvidenceEvent): string =>
  'reconciles' in payload ? String(payload['reconciles']) : invocation_id

function printCall(io: Io, events: readonly EvidenceEvent[], denied: readonly ApprovalRequest[]): void {
  const [first] = events
  if (first === undefined) return
  const records = events.flatMap((event) => recordIn(event) ?? [])
  const record = records.findLast(({ basis }) => basis !== undefined) ?? records[0]
  const last = events.findLast(({ outcome }) => outcome !== null) ?? first
  line(io, `${paint(io, 'bold', plain(first.invocation_id))}  ${last.outcome ?? 'not ended'}`)
  const noes = denied.filter(({ invocation_id }) => invocation_id === first.invocation_id).flatMap(noesIn)
  printFields(io, [
    ['subject', record?.subject == null ? 'none' : subjectText(record.subject)],
    ['actor', record?.actor?.id ?? ''],
    ['capability', `${first.capability_id} ${last.capability_version ?? ''}`],
    ['host', first.host_id],
    ...(record === undefined ? [] : decisionFields(record)),
    ...runFields(records.findLast(({ run }) => run !== undefined)?.run ?? null),
    ...startFields(first),
    ['denied by', ...noes],
    ['edited', events.some(isEdited) ? 'people agreed to other arguments than were asked for' : ''],
    ['events', ...events.map(({ sequence, timestamp, event_type }) => `${sequence}  ${timestamp}  ${event_type}`)],
    ['result', resultText(last)],
  ])
}

/** Which branches of data a call of a run was made under, and which it touched. */
export const runFields = (run: Pick<RunEntry, 'grants' | 'mode' | 'scopes'> | null): Field[] => [
  ['granted', run === null ? '' : grantedText(run.grants, run.mode)],
  ['touched', run?.scopes.join(', ') ?? ''],
]

/** What a run was granted, and what its model was not shown, as the record of its start has it. */
function startFields({ event_type, payload }: EvidenceEvent): Field[] {
  if (event_type !== 'ambit.run.started' || !('surface' in payload)) return []
  const { grants, surface } = payload as unknown as Pick<RunRecord, 'grants' | 'surface'>
  const paths = grants.map(({ path }) => path)
  return [
    ['granted', grantedText(paths, null)],
    ['hidden', ...hiddenIn(surface)],
  ]
}

const grantedText = (paths: readonly string[], mode: string | null): string =>
  (paths.join(', ') || 'nothing') + (mode === null ? '' : `, to ${mode}`)

const noesIn = ({ votes }: ApprovalRequest): string[] =>
  votes
    .filter(({ decision }) => decision === 'deny')
    .map(({ approver, rationale }) => (rationale === '' ? approver : `${approver}, “${rationale}”`))

type RunEntry = NonNullable<CallRecord['run']>

const isEdited = ({ payload }: EvidenceEvent): boolean => 'edited' in payload && payload['edited'] === true

/** The record of the call that an event is sealed with, unless it is withheld or cleared. */
export const recordIn = ({ payload }: EvidenceEvent): CallRecord | undefined =>
  'decision' in payload ? (payload.decision as CallRecord | undefined) : undefined

const subjectText = ({ id, verified }: NonNullable<CallRecord['subject']>): string =>
  verified === true ? id : `${id} (not verified)`

function decisionFields({ policy, basis = [], context = [], approval }: CallRecord): Field[] {
  const rules = basis.map(
    ({ rule, effect, reads }) => `${rule}: ${effect}${reads.map((name) => `, read ${name}`).join('')}`,
  )
  const people = (approval?.approvers ?? []).map(({ name, role, custody }) =>
    custody === 'self' ? `${name} as ${role}, with their own key` : `${name} as ${role}`,
  )
  return [
    ['policy', policy == null ? '' : `${policy.name}, version ${policy.version}, ${policy.state}`],
    ['rules', ...rules],
    ['context', ...context.map((field) => `${field.name}: ${fieldText(field)}`)],
    ['approved by', ...people],
  ]
}

function fieldText({ state, value, digest }: NonNullable<CallRecord['context']>[number]): string {
  if (state !== 'present') return state
  return value === undefined ? (digest ?? 'present, not kept') : JSON.stringify(value)
}

function resultText({ outcome, denial, error }: EvidenceEvent): string {
  if (denial) return `${outcome}: ${denial.message} (${denial.code})`
  return error ? `${outcome}: ${error.type}` : (outcome ?? 'not ended')
}
