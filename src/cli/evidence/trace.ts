import type { ApprovalRequest } from '../../model/approval.ts'
import type { CallRecord, EvidenceEvent } from '../../model/evidence.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { type Field, printFields } from '../terminal/table.ts'

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
  printFields(io, [
    ['subject', plain(record?.subject == null ? 'nobody' : subjectText(record.subject))],
    ['actor', plain(record?.actor?.id ?? '')],
    ['capability', plain(`${first.capability_id} ${last.capability_version ?? ''}`)],
    ['host', plain(first.host_id)],
    ...(record === undefined ? [] : decisionFields(record)),
    [
      'denied by',
      ...denied
        .filter(({ invocation_id }) => invocation_id === first.invocation_id)
        .flatMap(noesIn)
        .map(plain),
    ],
    ['edited', events.some(isEdited) ? 'people agreed to other arguments than were asked for' : ''],
    [
      'events',
      ...events.map(({ sequence, timestamp, event_type }) => `${sequence}  ${timestamp}  ${plain(event_type)}`),
    ],
    ['result', plain(resultText(last))],
  ])
}

const noesIn = ({ votes }: ApprovalRequest): string[] =>
  votes
    .filter(({ decision }) => decision === 'deny')
    .map(({ approver, rationale }) => (rationale === '' ? approver : `${approver}, “${rationale}”`))

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
    ['policy', policy == null ? '' : plain(`${policy.name}, version ${policy.version}, ${policy.state}`)],
    ['rules', ...rules.map(plain)],
    ['context', ...context.map((field) => plain(`${field.name}: ${fieldText(field)}`))],
    ['approved by', ...people.map(plain)],
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
