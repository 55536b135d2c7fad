import { z } from 'zod'
import { canonical, type Json } from '../../base/canonical.ts'
import { keyIdOf, type Signer, verifySignature } from '../../base/ed25519.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { type EvidenceBundle, type ForeignBundle, hash } from '../../model/evidence.ts'
import { wireId } from '../../model/wire/correlation.ts'
import { type DsseEnvelope, dsseEnvelope } from '../../model/wire/statement.ts'
import { asJson } from '../json.ts'
import { refused, type Verified } from '../verify/verified.ts'
import { type BundleReport, type VerifyOptions, verifyBundle } from '../verify/verify.ts'
import { readShape } from './statement.ts'

const payloadType = 'application/vnd.in-toto+json'
const statementType = 'https://in-toto.io/Statement/v1'
const predicateType = 'https://chp.dev/attestation/evidence-bundle/v1'

const statement = z.strictObject({
  _type: z.literal(statementType),
  subject: z.tuple([z.strictObject({ name: wireId, digest: z.strictObject({ sha256: hash }) })]),
  predicateType: z.literal(predicateType),
  predicate: z.unknown(),
})

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

/** Verifies the envelope, the bundle inside, and that both are signed with the bundle's key and about one root. */
export function verifyAttestation(input: unknown, options: VerifyOptions = {}): Verified<BundleReport> {
  const envelope = readShape(dsseEnvelope, input)
  if (!envelope.ok) return envelope
  const body = Buffer.from(envelope.value.payload, 'base64')
  if (body.toString('base64') !== envelope.value.payload) return refused('shape', 'the payload is not base64')
  const read = readShape(statement, parsed(body))
  if (!read.ok) return read
  const { predicate, subject } = read.value
  const report = verifyBundle(predicate, options)
  if (!report.valid) return refused('bundle', report.first?.message ?? 'the bundle is not valid')
  const bundle = predicate as ForeignBundle
  const [{ name, digest }] = subject
  if (digest.sha256 !== bundle.root_hash || name !== report.correlation_id) {
    return refused('subject', 'the statement is about another bundle')
  }
  const { public_key: key = '' } = bundle
  const signed = preAuthentication(body)
  const good = envelope.value.signatures.every(
    ({ keyid, sig }) => keyid === keyIdOf(key) && verifySignature(key, signed, sig),
  )
  return good
    ? { ok: true, value: report }
    : refused('signature', 'the envelope is not signed with the key of the bundle')
}

function parsed(body: Uint8Array): Json | undefined {
  try {
    return readJson(body, { bytesMax: limits.bundleBytesMax })
  } catch {
    return undefined
  }
}

/** What the envelope's signature is over: type and body with their lengths, so that neither can pass for the other. */
const preAuthentication = (body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${body.length} `), body])
