import { type Json, stable } from '../base/canonical.ts'
import { sha256 } from '../base/hash.ts'
import { type EventDraft, type ForeignEvent, hashScheme } from '../model/evidence.ts'
import { hashedText } from './json.ts'

/** The members of an event that its content hash covers by name, each as JSON text (`stable`). */
export const headerTexts = (
  event: Pick<EventDraft, 'event_id' | 'event_type' | 'invocation_id' | 'capability_id' | 'timestamp'> &
    Pick<ForeignEvent, 'outcome' | 'correlation'>,
  hostId: string,
  prevHash: string | null,
) => ({
  eventId: stable(event.event_id),
  eventType: stable(event.event_type),
  invocationId: stable(event.invocation_id),
  capabilityId: stable(event.capability_id),
  hostId: stable(hostId),
  correlationId: stable(event.correlation.correlation_id),
  timestamp: stable(event.timestamp),
  outcome: stable(event.outcome ?? null),
  prevHash: stable(prevHash),
})

export type HeaderTexts = ReturnType<typeof headerTexts>

/** What an event's hash, or an approval, says about a payload without showing it. Fractions stand in it as text. */
export const payloadCommitment = (payload: Json): string => sha256(hashedText(payload))

/** The v2 hash covers the commitment to the payload. */
export const contentHash = (header: HeaderTexts, commitment: string): string =>
  sha256(headerText(header, `"payload_commitment": "${commitment}"`))

/** The v1 hash, of events without a hash scheme, covers the payload itself. We verify these and write none. */
export const contentHashV1 = (header: HeaderTexts, payload: string): string =>
  sha256(headerText(header, `"payload": ${payload}`))

// The keys are fixed, so their order is too: the same text as `stable` of the object, without building it.
const headerText = (header: HeaderTexts, payload: string): string =>
  `{"capability_id": ${header.capabilityId}, "correlation_id": ${header.correlationId}, "event_id": ${header.eventId}, "event_type": ${header.eventType}, "host_id": ${header.hostId}, "invocation_id": ${header.invocationId}, "outcome": ${header.outcome}, ${payload}, "prev_hash": ${header.prevHash}, "timestamp": ${header.timestamp}}`

/** The root of a bundle: one line per content hash. */
export const rootHash = (hashes: readonly string[]): string => sha256(hashes.map((hash) => `${hash}\n`).join(''))

export const withheldMarker = { chp_withheld: true } as const

/** True for the two payloads that stand in for another one: withheld, and sealed to a recipient. */
export const standsIn = (payload: { readonly [key: string]: unknown }): boolean =>
  (payload['chp_withheld'] === true || payload['chp_sealed'] !== undefined) && Object.keys(payload).length === 1

/** The hash scheme an event names: absent and null are v1, an unknown one is undefined. */
export function schemeOf(event: { readonly hash_scheme?: string | null | undefined }): 'v1' | 'v2' | undefined {
  if (event.hash_scheme === undefined || event.hash_scheme === null) return 'v1'
  return event.hash_scheme === hashScheme ? 'v2' : undefined
}
