import { byCodePoint, canonical, type Json, stable } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import type { AttemptRecord, EventDraft, Seal, SealedEvent } from '../model/evidence.ts'
import { hashScheme, recordScheme } from '../model/evidence.ts'
import type { Correlation } from '../model/wire/correlation.ts'
import { contentHash, headerTexts } from './event.ts'
import { asJson, fractionsAsText, isUnsupported } from './json.ts'

/**
 * Seals for one host: writes the call record into the payload, commits to it, hashes and chains.
 * Refuses a payload with the member `decision`, and an event that is too long. Fractions become text, because the hashed form has none.
 */
export function makeSeal({ hostId, tenant }: { readonly hostId: string; readonly tenant: string }): Seal {
  const host: Host = { hostId, tenant: stable(tenant) }
  return (drafts, at) => {
    const tails = new Map<string, string>()
    return drafts.map((draft, index) => {
      const { correlation_id: id } = draft.correlation
      const event = sealAny(draft, at.sequence + index + 1, tails.get(id) ?? at.tails.get(id) ?? null, host)
      tails.set(id, event.contentHash)
      return event
    })
  }
}

interface Host {
  readonly hostId: string
  /** As JSON text. */
  readonly tenant: string
}

/** Almost no draft has a fraction, so it is looked for only after the hashed form has refused one. */
function sealAny(draft: EventDraft, sequence: number, prevHash: string | null, host: Host): SealedEvent {
  try {
    return sealOne(draft, sequence, prevHash, host)
  } catch (error) {
    if (!isUnsupported(error)) throw error
    return sealOne(withoutFractions(draft), sequence, prevHash, host)
  }
}

const withoutFractions = (draft: EventDraft): EventDraft => ({
  ...draft,
  payload: fractionsAsText(draft.payload),
  subject: fractionsAsText(draft.subject),
  correlation: fractionsAsText(draft.correlation),
  record: fractionsAsText(draft.record),
})

function sealOne(draft: EventDraft, sequence: number, prevHash: string | null, host: Host): SealedEvent {
  const event = sealedOf(draft, sequence, prevHash, host)
  if (event.body.length <= limits.eventBytesMax) return event
  throw new Failure('payload.too_large', `an event has more than ${limits.eventBytesMax} bytes once it is sealed`)
}

function sealedOf(draft: EventDraft, sequence: number, prevHash: string | null, host: Host): SealedEvent {
  const header = headerTexts(draft, host.hostId, prevHash)
  const parts = partsOf(draft)
  const payload = payloadText(draft.payload, recordText(draft, parts, sequence, host.tenant))
  const commitment = sha256(payload)
  const hash = contentHash(header, commitment)
  return {
    sequence,
    eventId: draft.event_id,
    eventType: draft.event_type,
    invocationId: draft.invocation_id,
    capabilityId: draft.capability_id,
    correlationId: draft.correlation.correlation_id,
    timestamp: draft.timestamp,
    outcome: draft.outcome,
    subjectId: draft.subject?.id ?? null,
    contentHash: hash,
    body: `{"assurance": ${parts.assurance}, "capability_id": ${header.capabilityId}, "capability_version": ${parts.version}, "content_hash": "${hash}", "correlation": ${correlationText(draft.correlation, header.correlationId)}, "denial": ${parts.denial}, "error": ${parts.error}, "event_id": ${header.eventId}, "event_type": ${header.eventType}, "hash_scheme": "${hashScheme}", "host_id": ${header.hostId}, "invocation_id": ${header.invocationId}, "outcome": ${header.outcome}, "payload": ${payload}, "payload_commitment": "${commitment}", "prev_hash": ${header.prevHash}, "redacted": ${draft.redacted}, "sequence": ${sequence}, "subject": ${parts.subject}, "timestamp": ${header.timestamp}}`,
  }
}

/** Texts that stand both in the record and in the event around it. */
const partsOf = (draft: EventDraft) => ({
  assurance: `{"level": ${stable(draft.assurance ?? 'S1')}}`,
  version: stable(draft.capability_version),
  subject: stable(asJson(draft.subject)),
  // Their digests are over the RFC 8785 form, which allows fractions in `details`.
  denial: canonical(asJson(draft.denial)),
  error: canonical(asJson(draft.error)),
})

// The members of a record are known, so they are written in order, as `stable` would.
function recordText(draft: EventDraft, parts: ReturnType<typeof partsOf>, sequence: number, tenant: string): string {
  const more = draft.record === undefined ? noTexts : textsOf(draft.record)
  const denial = draft.denial && `{"code": ${stable(draft.denial.code)}, "digest": "sha256:${sha256(parts.denial)}"}`
  const error = draft.error && `{"digest": "sha256:${sha256(parts.error)}", "type": ${stable(draft.error.type)}}`
  return `{"actor": ${stable(asJson(draft.actor))}${more.approval}, "assurance": ${parts.assurance}${more.basis}, "capability_version": ${parts.version}${more.context}, "correlation": ${correlationText(draft.correlation)}${more.decision}, "denial": ${denial}${more.descriptor}, "error": ${error}${more.others}, "redacted": ${draft.redacted}${more.run}, "seq": ${sequence}, "subject": ${parts.subject}, "tenant": ${tenant}, "v": "${recordScheme}"}`
}

/** The members that an attempt adds to the record, as they stand between the others. */
const recordTexts = (record: AttemptRecord) => ({
  approval: member('approval', record.approval),
  basis: member('basis', record.basis),
  context: member('context', record.context),
  decision: member('decision', record.decision),
  descriptor: member('descriptor', record.descriptor),
  others: `${member('facts', record.facts)}${member('input', record.input)}${member('policy', record.policy)}`,
  run: member('run', record.run),
})

// The last event of an attempt says again what the first one said. As many are kept as may well be under way at once; a
// weak map would cost more than it saves.
const keptMax = 32
const kept: { readonly record: AttemptRecord; readonly texts: ReturnType<typeof recordTexts> }[] = []
let next = 0

function textsOf(record: AttemptRecord): ReturnType<typeof recordTexts> {
  for (const each of kept) if (each.record === record) return each.texts
  const texts = recordTexts(record)
  kept[next] = { record, texts }
  next = (next + 1) % keptMax
  return texts
}

const member = (name: string, value: unknown): string =>
  value === undefined ? '' : `, "${name}": ${stable(asJson(value))}`

const noTexts = recordTexts({})

/** With `id` the whole correlation; without, as the record repeats it. */
function correlationText(correlation: Correlation, id?: string): string {
  const text = `${member('baggage', correlation.baggage)}${member('causation_id', correlation.causation_id)}${id === undefined ? '' : `, "correlation_id": ${id}`}${member('environment', correlation.environment)}${member('parent_correlation_id', correlation.parent_correlation_id)}${member('trace_id', correlation.trace_id)}`
  return `{${text.slice(2)}}`
}

function payloadText(payload: { readonly [key: string]: Json }, record: string): string {
  if (Object.hasOwn(payload, 'decision'))
    throw new Failure('field.invalid', 'an event payload has the member `decision`, the place of the call record')
  let before = ''
  let after = ''
  for (const key of Object.keys(payload).sort(byCodePoint)) {
    const value = payload[key]
    if (value === undefined) continue
    if (byCodePoint(key, 'decision') < 0) before += `${stable(key)}: ${stable(value)}, `
    else after += `, ${stable(key)}: ${stable(value)}`
  }
  return `{${before}"decision": ${record}${after}}`
}
