import { canonical, stable } from '../base/canonical.ts'
import type { Signer } from '../base/ed25519.ts'
import { Failure } from '../base/failure.ts'
import type { EvidenceBundle, ForeignBundle, HostIdentity, SealedEvent } from '../model/evidence.ts'
import { completenessScheme, protocolVersion } from '../model/evidence.ts'
import type { DsseEnvelope } from '../model/wire/statement.ts'
import { rootHash } from './event.ts'
import { asJson } from './json.ts'

interface BundleParts {
  readonly hostId: string
  /** All events of one correlation, in sequence order. */
  readonly events: readonly Pick<SealedEvent, 'body' | 'contentHash' | 'correlationId'>[]
  readonly createdAt: string
  /** How many events the host has counted when it exports. */
  readonly asOfSequence: number
  /** The host's claim to the key that signs. */
  readonly identity?: HostIdentity
}

/** The signed export of one correlation. */
export function makeBundle(parts: BundleParts, signer: Signer): EvidenceBundle {
  if (parts.events.length === 0) throw new Failure('correlation.not_found', 'a bundle needs at least one event')
  if (parts.events.some((event) => event.contentHash === ''))
    throw new Failure('bundle.invalid', 'an event has lost its hash, so the correlation can no longer be exported')
  const bundle = unsignedBundle(parts)
  return {
    ...bundle,
    assurance: 'signed',
    public_key: signer.publicKey,
    signature: { algorithm: 'ed25519', key_id: signer.keyId, signature: signer.sign(signedText(bundle)) },
    ...(parts.identity && { host_identity: parts.identity }),
  }
}

/** A bundle whose events may be damaged, for the verifier to say so. */
export function unsignedBundle({ hostId, events, createdAt, asOfSequence }: BundleParts): EvidenceBundle {
  const last = events.at(-1)
  return {
    host_id: hostId,
    protocol_version: protocolVersion,
    created_at: createdAt,
    canonicalization: 'chp-stable-v1',
    root_hash: rootHash(events.map((event) => event.contentHash)),
    completeness: {
      scheme: completenessScheme,
      correlation_id: last?.correlationId ?? '',
      as_of_sequence: asOfSequence,
      head_hash: last?.contentHash ?? '',
    },
    assurance: 'hash-chain',
    events: events.map((event) => JSON.parse(event.body)),
  }
}

/** What the signature of a bundle is over, in the form the bundle names; without a name, the stable one. */
export function signedText({
  host_id,
  protocol_version,
  created_at,
  canonicalization,
  root_hash,
  completeness,
}: Omit<ForeignBundle, 'assurance' | 'events'>): string {
  const header = { host_id, protocol_version, created_at, canonicalization, root_hash, completeness }
  return canonicalization === 'chp-jcs-v1' ? canonical(header) : stable(header)
}

const payloadType = 'application/vnd.in-toto+json'

/** A bundle as an in-toto statement in a signed envelope, for tools that know nothing of bundles. */
export function makeAttestation(bundle: EvidenceBundle, signer: Signer): DsseEnvelope {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: bundle.completeness.correlation_id, digest: { sha256: bundle.root_hash } }],
    predicateType: 'https://chp.dev/attestation/evidence-bundle/v1',
    predicate: asJson(bundle),
  }
  const body = Buffer.from(canonical(statement))
  // Signed are type and body with their lengths, so that neither can pass for the other.
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${body.length} `), body])
  return {
    payloadType,
    payload: body.toString('base64'),
    signatures: [{ keyid: signer.keyId, sig: signer.sign(signed) }],
  }
}
