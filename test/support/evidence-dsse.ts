import { z } from 'zod'
import type { Json } from '../../src/base/canonical.ts'
import { keyIdOf, verifySignature } from '../../src/base/ed25519.ts'
import { readJson } from '../../src/base/json.ts'
import { limits } from '../../src/base/limits.ts'
import { readShape, refused, type Verified } from '../../src/evidence/statements/statement.ts'
import { type BundleReport, type VerifyOptions, verifyBundle } from '../../src/evidence/verify/verify.ts'
import { type ForeignBundle, hash } from '../../src/model/evidence.ts'
import { wireId } from '../../src/model/wire/correlation.ts'
import { dsseEnvelope } from '../../src/model/wire/statement.ts'

const payloadType = 'application/vnd.in-toto+json'

const statement = z.strictObject({
  _type: z.literal('https://in-toto.io/Statement/v1'),
  subject: z.tuple([z.strictObject({ name: wireId, digest: z.strictObject({ sha256: hash }) })]),
  predicateType: z.literal('https://chp.dev/attestation/evidence-bundle/v1'),
  predicate: z.unknown(),
})

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
