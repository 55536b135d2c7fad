import { parseTime } from '../../base/time.ts'
import { type AdapterProvenance, type AuthToken, adapterProvenance, authToken } from '../../model/wire/statement.ts'
import { refused, type Verified } from '../verify/verified.ts'
import {
  headerOf,
  isPinned,
  type Pins,
  partyOf,
  readShape,
  type Signatory,
  signHeader,
  statementProblem,
} from './statement.ts'

const tokenMembers = ['kind', 'sub', 'aud', 'iat', 'exp', 'canonicalization'] as const

/** A caller's bearer token for one host. */
export function signToken(fields: Pick<AuthToken, 'aud' | 'iat' | 'exp'>, caller: Signatory): AuthToken {
  const header = {
    ...fields,
    kind: 'auth-token',
    sub: caller.identity.host_id,
    canonicalization: 'chp-stable-v1',
  } as const
  return { ...header, caller: partyOf(caller), signature: signHeader(headerOf(header, tokenMembers), caller.signer) }
}

export interface TokenOptions {
  /** The host's time in milliseconds. */
  readonly at: number
  /** This host's id. */
  readonly audience: string
  /** The keys of registered callers. */
  readonly pins: Pins
}

/** Verifies a bearer token: signature, identity, pinned key, audience, and `iat ≤ at < exp`. */
export function verifyToken(input: unknown, { at, audience, pins }: TokenOptions): Verified<AuthToken> {
  const read = readShape(authToken, input)
  if (!read.ok) return read
  const { caller, sub, aud, iat, exp } = read.value
  const problem = statementProblem(read.value, tokenMembers, caller, iat)
  if (problem !== undefined) return problem
  if (caller.host_id !== sub) return refused('subject', 'the token is signed by another than its subject')
  if (!isPinned(pins, caller.public_key)) return refused('pin', 'the key is not that of a registered caller')
  if (aud !== audience) return refused('audience', 'the token is for another host')
  const open = (parseTime(iat) ?? Number.NaN) <= at && at < (parseTime(exp) ?? Number.NaN)
  return open ? read : refused('window', 'the token is not valid at this time')
}

const provenanceMembers = ['kind', 'package', 'version', 'wheel_sha256', 'created_at', 'canonicalization'] as const

/** Verifies a publisher's statement about a package, for the file that hashes to `fileHash`. */
export function verifyProvenance(
  input: unknown,
  { fileHash, pins }: { readonly fileHash: string; readonly pins: Pins },
): Verified<AdapterProvenance> {
  const read = readShape(adapterProvenance, input)
  if (!read.ok) return read
  const { publisher, created_at, wheel_sha256 } = read.value
  const problem = statementProblem(read.value, provenanceMembers, publisher, created_at)
  if (problem !== undefined) return problem
  if (!isPinned(pins, publisher.public_key)) return refused('pin', 'the key is not that of a registered publisher')
  return wheel_sha256 === fileHash ? read : refused('file', 'the statement is about another file')
}
