import type { z } from 'zod'
import { stable } from '../../base/canonical.ts'
import { keyIdOf, type Signer, verifySignature } from '../../base/ed25519.ts'
import { quote } from '../../base/failure.ts'
import { parseTime } from '../../base/time.ts'
import type { HostIdentity, SignatureObject } from '../../model/evidence.ts'
import { problemsOf } from '../../model/parse.ts'
import type { Party } from '../../model/wire/statement.ts'
import { asJson } from '../json.ts'
import { verifySshSignature } from './sshsig.ts'

/** The answer of a verifier about one statement: what it says, or the first check it fails. */
export type Verified<T> = { readonly ok: true; readonly value: T } | Refused

export interface Refused<C extends string = string> {
  readonly ok: false
  readonly check: C
  readonly message: string
}

export const refused = <C extends string>(check: C, message: string): Refused<C> => ({ ok: false, check, message })

/** The input as this shape. Never throws, whatever the input is. */
export function readShape<S extends z.ZodType>(schema: S, input: unknown): Verified<z.output<S>> {
  try {
    const parsed = schema.safeParse(input)
    if (parsed.success) return { ok: true, value: parsed.data }
    const [problem] = problemsOf(schema, input)
    return refused('shape', problem ? `${quote(problem.pointer || '/')} ${problem.message}` : 'not the right shape')
  } catch {
    return refused('shape', 'the value cannot be read')
  }
}

/** A signature over the canonical text of a header. */
export const signHeader = (header: object, signer: Signer): SignatureObject => ({
  algorithm: 'ed25519',
  key_id: signer.keyId,
  signature: signer.sign(stable(asJson(header))),
})

/** A header with the signature over it; the header is whatever stands beside the signature. */
export interface Signed {
  readonly signature: SignatureObject
}

/** Refused unless this key signed exactly this header, under the key id computed from it. */
export function signatureProblem({ signature, ...header }: Signed, publicKey: string): Refused | undefined {
  if (signature.key_id !== keyIdOf(publicKey)) return refused('key id', 'the key id is not that of the key')
  if (verifySignature(publicKey, stable(asJson(header)), signature.signature)) return undefined
  return refused('signature', 'the signature does not verify')
}

/** Refused unless the party signed this header, with a key that was its own at this time. */
export function statementProblem(statement: Signed, party: Party, at: string): Refused | undefined {
  const { host_id, public_key, host_identity } = party
  const problem =
    signatureProblem(statement, public_key) ??
    identityProblem(host_identity, { hostId: host_id, publicKey: public_key })
  if (problem !== undefined) return problem
  if (withinWindow(parseTime(at), host_identity.valid_from, host_identity.valid_until)) return undefined
  return refused('window', 'the identity was not valid at that time')
}

/** Who signs: a key, and the host's own claim to it. */
export interface Signatory {
  readonly signer: Signer
  readonly identity: HostIdentity
}

export const partyOf = ({ signer, identity }: Signatory): Party => ({
  host_id: identity.host_id,
  public_key: signer.publicKey,
  host_identity: identity,
})

/** A set of public keys that may speak, or `any` where the caller decides afterwards. */
export type Pins = ReadonlySet<string> | 'any'

export const isPinned = (pins: Pins, publicKey: string): boolean => pins === 'any' || pins.has(publicKey)

/** Refused unless the identity claims exactly this key for this host, under its own signature. */
export function identityProblem(
  { signature, ...claim }: HostIdentity,
  { hostId, publicKey }: { readonly hostId: string; readonly publicKey: string },
): Refused<'attestation' | 'key id'> | undefined {
  if (claim.host_id !== hostId) return refused('attestation', 'the identity names another host')
  if (claim.public_key !== publicKey) return refused('attestation', 'the identity names another key')
  if (claim.key_id !== keyIdOf(publicKey)) return refused('key id', "the identity's key id is not that of its key")
  if (verifySignature(publicKey, stable(asJson(claim)), signature)) return undefined
  return refused('attestation', "the identity's signature does not verify")
}

/** True if the instant lies in the window, both ends included; null is an open end, a time that is none is outside. */
export function withinWindow(at: number | undefined, from: string | null, until: string | null): boolean {
  const start = from === null ? Number.NEGATIVE_INFINITY : parseTime(from)
  const end = until === null ? Number.POSITIVE_INFINITY : parseTime(until)
  return at !== undefined && start !== undefined && end !== undefined && start <= at && at <= end
}

/** What the identity's `did` anchors prove; anchors of other types are skipped and prove nothing. */
export function anchorVerdict({ anchors = [], public_key, host_id }: HostIdentity): 'pass' | 'fail' | 'absent' {
  const dids = anchors.filter((anchor) => anchor.type === 'did')
  if (dids.length === 0) return 'absent'
  const claim = { namespace: 'chp-host-anchor', message: stable({ chp_public_key: public_key, host_id }) }
  const good = dids.every(({ did, countersignature: signature }) => verifySshSignature({ did, signature, ...claim }))
  return good ? 'pass' : 'fail'
}
