import { stable } from '../../src/base/canonical.ts'
import { sha256 } from '../../src/base/hash.ts'
import { makeBundle, signedText } from '../../src/evidence/bundle.ts'
import { payloadCommitment, rootHash } from '../../src/evidence/event.ts'
import { type VerifyOptions, verifyBundle } from '../../src/evidence/verify/verify.ts'
import type { EvidenceBundle, SealedEvent } from '../../src/model/evidence.ts'
import { copyOf, createdAt, hostId, hostIdentity, hostKey, storyBundle } from './evidence.ts'
import { type Path, set } from './evidence-tamper.ts'

// Bundles that lie, in small ways or with the help of the host's own key.

/** The first fault, as one line. */
export const faultOf = (bundle: unknown, options: VerifyOptions = {}): string | null => {
  const { first } = verifyBundle(bundle, options)
  return first && `${first.check} ${first.at}: ${first.message}`
}

export const verdictsOf = (bundle: unknown, options: VerifyOptions = {}): Record<string, string> =>
  Object.fromEntries(verifyBundle(bundle, options).checks.map(({ name, verdict }) => [name, verdict]))

/** One member replaced; undefined takes it away. */
export const edited = (path: Path, value: unknown, bundle: unknown = storyBundle()): unknown => {
  const copy = copyOf(bundle)
  set(copy, path, value)
  return copyOf(copy)
}

/** Signs the header again, as the host itself would; the identity is kept. */
export const resigned = (bundle: EvidenceBundle, signer = hostKey): EvidenceBundle => ({
  ...bundle,
  public_key: signer.publicKey,
  signature: { algorithm: 'ed25519', key_id: signer.keyId, signature: signer.sign(signedText(bundle)) },
})

export const bundleOf = (events: readonly SealedEvent[], asOfSequence = 9): EvidenceBundle =>
  copyOf(makeBundle({ hostId, events, createdAt, asOfSequence, identity: hostIdentity() }, hostKey))

/** Root and completeness made to fit the events, and signed again. */
export function signedOver(bundle: EvidenceBundle): EvidenceBundle {
  const hashes = bundle.events.map((event) => event.content_hash ?? '')
  const completeness = { ...bundle.completeness, head_hash: hashes.at(-1) ?? '' }
  return copyOf(resigned({ ...bundle, root_hash: rootHash(hashes), completeness }))
}

/** Hashes and chain made to fit the events, as a host would that wants to mislead. */
function rehashed(bundle: EvidenceBundle): EvidenceBundle {
  const events: EvidenceBundle['events'] = []
  for (const event of bundle.events) {
    const prev_hash = events.at(-1)?.content_hash ?? null
    const payload_commitment = payloadCommitment(event.payload as never)
    const header = {
      event_id: event.event_id,
      event_type: event.event_type,
      invocation_id: event.invocation_id,
      capability_id: event.capability_id,
      host_id: event.host_id,
      correlation_id: event.correlation.correlation_id,
      timestamp: event.timestamp,
      outcome: event.outcome,
      payload_commitment,
      prev_hash,
    }
    events.push({ ...event, prev_hash, payload_commitment, content_hash: sha256(stable(header)) })
  }
  return signedOver({ ...bundle, events })
}

type Decision = Record<string, unknown>

/** The record of one event replaced by the host itself. */
export function rewritten(
  bundle: EvidenceBundle,
  index: number,
  change: (decision: Decision) => Decision,
): EvidenceBundle {
  const copy = copyOf(bundle)
  const payload = copy.events[index]?.payload as { decision: Decision }
  payload.decision = change(payload.decision)
  return rehashed(copy)
}

/** The same events without call records, as another host would write them. */
export function foreignOf(bundle: EvidenceBundle): EvidenceBundle {
  const events = bundle.events.map((event) => ({ ...event, payload: { note: 'mine' } }))
  return rehashed({ ...bundle, events: events as never })
}
