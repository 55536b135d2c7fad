import type { EvidenceBundle, EvidenceEvent } from '../model/evidence.ts'
import { withheldMarker } from './event.ts'

/**
 * The same bundle without the payloads of the events that `hides` says yes to. Hashes, root and signature stand. With
 * its payload an event loses the record that vouches for who and why, so these members go too.
 */
export function withhold(
  bundle: EvidenceBundle,
  hides: (event: EvidenceEvent) => boolean = () => true,
): EvidenceBundle {
  const events = bundle.events.map((event) => (hides(event) ? hiddenEvent(event) : event))
  return { ...bundle, events }
}

/** One event without its payload, and without what the record in it vouched for. */
const hiddenEvent = (event: EvidenceEvent): EvidenceEvent => ({
  ...event,
  payload: withheldMarker,
  correlation: { correlation_id: event.correlation.correlation_id },
  redacted: true,
  assurance: { level: 'S1' },
  subject: null,
  denial: null,
  error: null,
  capability_version: null,
})
