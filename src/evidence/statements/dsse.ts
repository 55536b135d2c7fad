import { canonical } from '../../base/canonical.ts'
import type { Signer } from '../../base/ed25519.ts'
import type { EvidenceBundle } from '../../model/evidence.ts'
import type { DsseEnvelope } from '../../model/wire/statement.ts'
import { asJson } from '../json.ts'

const payloadType = 'application/vnd.in-toto+json'
const statementType = 'https://in-toto.io/Statement/v1'
const predicateType = 'https://chp.dev/attestation/evidence-bundle/v1'

/** A bundle as an in-toto statement in a signed envelope, for tools that know nothing of bundles. */
export function makeAttestation(bundle: EvidenceBundle, signer: Signer): DsseEnvelope {
  const body = canonical(
    asJson({
      _type: statementType,
      subject: [{ name: bundle.completeness.correlation_id, digest: { sha256: bundle.root_hash } }],
      predicateType,
      predicate: bundle,
    }),
  )
  const payload = Buffer.from(body)
  return {
    payloadType,
    payload: payload.toString('base64'),
    signatures: [{ keyid: signer.keyId, sig: signer.sign(preAuthentication(payload)) }],
  }
}

/** What the envelope's signature is over: type and body with their lengths, so that neither can pass for the other. */
const preAuthentication = (body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${body.length} `), body])
