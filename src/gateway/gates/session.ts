import { type Call, type CallCaller, callKey } from '../call.ts'
import type { Offer } from '../deps.ts'

/**
 * The session of a call: what rules know of its past hangs on it, and budgets may. The door names it; otherwise it is
 * all calls of one principal, which no caller can leave, or of one correlation where the host says so.
 */
export function sessionOf(
  { session }: Pick<Offer, 'session'>,
  { caller, correlation }: Pick<Call, 'caller' | 'correlation'>,
): string {
  if (caller.session !== undefined) return callKey('door', principalOf(caller), caller.session)
  return session === 'correlation'
    ? callKey('correlation', correlation.correlation_id)
    : callKey('principal', principalOf(caller))
}

/** Those whom nobody knows by name are one. */
export const principalOf = ({ subject, name }: CallCaller): string => (subject === null ? 'anonymous' : name)
