import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import type { Ids } from '../base/ids.ts'
import { limits } from '../base/limits.ts'
import { contextDigest, inputDigest, type TenantDigest } from '../evidence/digests.ts'
import { asJson, hashedText } from '../evidence/json.ts'
import { nothingMarked, redact, scrubText } from '../evidence/redaction/redact.ts'
import type { AttemptRecord, EventDraft } from '../model/evidence.ts'
import type { CallError, Denial } from '../model/wire/denial.ts'
import type { FieldState } from '../policy/contract.ts'
import { type Asked, type Decided, type EventSpec, secretsOf } from './attempt.ts'

/**
 * The events of one write of an attempt as drafts. The first and the last carry the whole record of the decision, whatever
 * it was; all of them are without the call's secrets, and none has its payload.
 */
export const draftsOf = (
  attempt: Asked,
  specs: readonly EventSpec[],
  { ids, timestamp, record, data }: Drafting,
): EventDraft[] => {
  // Few calls write a text of somebody else, so few need to know their secrets.
  const secrets = specs.some(isForeign) ? secretsOf(attempt, data) : []
  return specs.map((spec, index) =>
    draftOf(attempt, spec, {
      event_id: ids.next('evt'),
      timestamp,
      secrets,
      record: index === 0 || index === specs.length - 1 ? record : undefined,
    }),
  )
}

export interface Drafting {
  readonly ids: Ids
  readonly timestamp: string
  readonly record: AttemptRecord
  /** The result of the call, which may have secrets of its own. */
  readonly data?: Json
}

const isForeign = ({ foreign, denial, error }: EventSpec): boolean =>
  foreign === true || denial !== undefined || error !== undefined

interface Made {
  readonly event_id: string
  readonly timestamp: string
  readonly secrets: readonly string[]
  readonly record: AttemptRecord | undefined
}

function draftOf(attempt: Asked, spec: EventSpec, { event_id, timestamp, secrets, record }: Made): EventDraft {
  const { call, subject, capability, version } = attempt
  const payload = spec.foreign ? redact(spec.payload ?? {}, nothingMarked, secrets) : undefined
  const denial = spec.denial && redact(asJson(spec.denial.details ?? {}), nothingMarked, secrets)
  return {
    event_id,
    event_type: spec.type,
    invocation_id: call.invocationId,
    capability_id: call.capabilityId,
    timestamp,
    outcome: spec.outcome ?? null,
    correlation: call.correlation,
    payload: (payload?.value ?? spec.payload ?? {}) as EventDraft['payload'],
    subject,
    actor: call.actor,
    capability_version: version,
    denial: spec.denial ? safeDenial(spec.denial, denial?.value, secrets) : null,
    error: spec.error ? scrubbed(spec.error, secrets) : null,
    // What a call is made of stays out of its events, so something is held back unless there was nothing.
    redacted:
      spec.withheld === true ||
      payload?.redacted === true ||
      denial?.redacted === true ||
      Object.keys(call.payload).length > 0,
    assurance: capability?.descriptor.assurance?.level,
    record,
  }
}

const safeDenial = (denial: Denial, details: Json | undefined, secrets: readonly string[]): Denial => ({
  ...denial,
  message: scrubText(denial.message, secrets),
  ...(denial.details && { details: details as Record<string, Json> }),
})

/** An error without the secrets. A type or code that holds one says nothing else, and is left out. */
export const scrubbed = (error: CallError, secrets: readonly string[]): CallError => ({
  ...error,
  type: scrubText(error.type, secrets) === error.type ? error.type : 'Error',
  code: error.code != null && scrubText(error.code, secrets) === error.code ? error.code : null,
  message: scrubText(error.message, secrets),
})

/** Leaves out of the baggage what has a sensitive name, and the secrets of the call: it is in every event and result. */
export function hideInBaggage(attempt: Asked): void {
  const { correlation } = attempt.call
  if (correlation.baggage === undefined) return
  const { value, redacted } = redact(correlation.baggage, nothingMarked, secretsOf(attempt))
  if (!redacted) return
  const baggage = value as NonNullable<typeof correlation.baggage>
  attempt.call = { ...attempt.call, correlation: { ...correlation, baggage } }
}

/** How the call was decided, as the first and last event of every write say it, those of the handler among them. */
export function recordOf(attempt: Asked & Decided, digest: TenantDigest): AttemptRecord {
  const { call, capability, policy, facts, basis, decision, approval } = attempt
  return {
    descriptor: capability?.digest ?? null,
    policy: policy ?? null,
    input: inputDigest(digest, call.payload as Json),
    context: safeContext(attempt, digest),
    ...(facts && { facts }),
    basis,
    decision,
    approval,
  }
}

function safeContext(attempt: Asked, digest: TenantDigest): NonNullable<AttemptRecord['context']> {
  const { fields } = attempt.context
  if (fields.length === 0) return []
  const secrets = fields.some(({ evidence, value }) => evidence === 'value' && value !== undefined)
    ? secretsOf(attempt)
    : []
  const values = fields.flatMap(({ evidence, value }) => (evidence === 'value' ? [value ?? null] : []))
  if (values.length > 0) checkWords(values, 'the context of the call')
  return fields.map((field) => {
    const hides = field.evidence === 'value' && redact(field.value ?? null, nothingMarked, secrets).redacted
    return contextEntry(hides ? { ...field, evidence: 'digest' } : field, digest)
  })
}

/** Refuses words of others that would make an event longer than events may be: said before anything is written. */
export function checkWords(words: unknown, what: string): void {
  if (hashedText(asJson(words)).length <= limits.eventWordsBytesMax) return
  throw new Failure('payload.too_large', `${what} has more than ${limits.eventWordsBytesMax} bytes in evidence`)
}

export function contextEntry(
  { name, source, state, sensitive, evidence, value }: FieldState,
  digest: TenantDigest,
): NonNullable<AttemptRecord['context']>[number] {
  const entry = { name, source, state, sensitive }
  if (value === undefined || evidence === 'omit') return entry
  return evidence === 'value' ? { ...entry, value } : { ...entry, digest: contextDigest(digest, name, value) }
}
