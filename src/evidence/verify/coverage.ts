import { objectHash } from '../../base/hash.ts'
import { type CallRecord, type ForeignEvent, recordScheme } from '../../model/evidence.ts'
import { asJson, sameJson } from '../json.ts'

/** The call record inside an event's payload; undefined where another host left none. */
export function recordOf(event: ForeignEvent): unknown {
  const record = event.payload['decision']
  const ours = typeof record === 'object' && record !== null && Reflect.get(record, 'v') === recordScheme
  return ours ? record : undefined
}

/** The first member of an event that neither the hash covers nor the call record repeats; undefined if there is none. */
export function uncoveredMember(event: ForeignEvent, record: CallRecord): string | undefined {
  // Absent and null hash alike, so a member that we always write must be there.
  for (const name of alwaysWritten) if (event[name] === undefined) return name
  for (const name of neverWritten) if (event[name] !== undefined) return name
  if (record.seq !== event.sequence) return 'sequence'
  if (record.redacted !== event.redacted) return 'redacted'
  if (record.capability_version !== event.capability_version) return 'capability_version'
  if (!sameAssurance(record.assurance, event.assurance)) return 'assurance'
  if (!sameJson(record.subject, event.subject)) return 'subject'
  const { correlation_id } = event.correlation
  if (!sameJson({ ...record.correlation, correlation_id }, event.correlation)) return 'correlation'
  if (!sameReason(record.denial, record.denial?.code, event.denial, 'code')) return 'denial'
  if (!sameReason(record.error, record.error?.type, event.error, 'type')) return 'error'
  return undefined
}

const alwaysWritten = [
  'outcome',
  'prev_hash',
  'sequence',
  'redacted',
  'subject',
  'denial',
  'error',
  'capability_version',
] as const

const neverWritten = ['admission', 'execution_id', 'action_digest', 'invocation_digest'] as const

/**
 * The first member of an event with a withheld payload that says something, although nothing covers it; undefined when
 * all of them are empty. The place in the sequence stays: it lies between those of its neighbours.
 */
export function unprovenMember(event: ForeignEvent): string | undefined {
  if (Object.keys(event.correlation).length > 1) return 'correlation'
  if (event.redacted === false) return 'redacted'
  if (!sameAssurance(undefined, event.assurance ?? undefined)) return 'assurance'
  return provenByRecord.find((name) => (event[name] ?? null) !== null)
}

const provenByRecord = ['subject', 'denial', 'error', 'capability_version', ...neverWritten] as const

/** A record without assurance is an older one, and stands for the lowest level. */
function sameAssurance(inner: CallRecord['assurance'], outer: ForeignEvent['assurance']): boolean {
  if (inner === undefined && outer === undefined) return true
  return sameJson(inner ?? { level: 'S1' }, outer)
}

type Reason = ForeignEvent['denial']

/** The record holds the digest of a denial or error, and by name the one word of it that people ask for. */
function sameReason(inner: { digest: string } | null, word: string | undefined, outer: Reason, name: string): boolean {
  if (inner === null || outer === null || outer === undefined) return inner === null && outer === null
  return word === outer[name] && inner.digest === objectHash(asJson(outer))
}
