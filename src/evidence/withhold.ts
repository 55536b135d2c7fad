import type { EvidenceBundle, EvidenceEvent } from '../model/evidence.ts'
import { withheldMarker } from './event.ts'

/** The same bundle without the payloads of the events that `hides` says yes to. Hashes, root and signature stand. */
export function withhold(
  bundle: EvidenceBundle,
  hides: (event: EvidenceEvent) => boolean = () => true,
): EvidenceBundle {
  const events = bundle.events.map((event) => (hides(event) ? { ...event, payload: withheldMarker } : event))
  return { ...bundle, events }
}

/**
 * A stored event whose payload has been taken away for good. What it said can no longer be proved, so its hash goes
 * too, and its correlation no longer verifies.
 */
export const clearPayload = (event: EvidenceEvent): EvidenceEvent => ({
  ...event,
  payload: {},
  payload_commitment: null,
  content_hash: null,
  redacted: true,
})
