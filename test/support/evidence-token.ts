import { parseTime } from '../../src/base/time.ts'
import {
  isPinned,
  type Pins,
  readShape,
  refused,
  statementProblem,
  type Verified,
} from '../../src/evidence/statements/statement.ts'
import { type AuthToken, authToken } from '../../src/model/wire/statement.ts'

interface TokenOptions {
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
  const { caller, ...token } = read.value
  const problem = statementProblem(token, caller, token.iat)
  if (problem !== undefined) return problem
  if (caller.host_id !== token.sub) return refused('subject', 'the token is signed by another than its subject')
  if (!isPinned(pins, caller.public_key)) return refused('pin', 'the key is not that of a registered caller')
  if (token.aud !== audience) return refused('audience', 'the token is for another host')
  const open = (parseTime(token.iat) ?? Number.NaN) <= at && at < (parseTime(token.exp) ?? Number.NaN)
  return open ? read : refused('window', 'the token is not valid at this time')
}
