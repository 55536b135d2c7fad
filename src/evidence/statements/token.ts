import { parseTime } from '../../base/time.ts'
import { type AuthToken, authToken } from '../../model/wire/statement.ts'
import { isPinned, type Pins, readShape, refused, statementProblem, type Verified } from './statement.ts'

const tokenMembers = ['kind', 'sub', 'aud', 'iat', 'exp', 'canonicalization'] as const

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
