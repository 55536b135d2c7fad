import { sha256 } from '../base/hash.ts'
import { formatTraceparent } from '../base/trace.ts'
import type { CallContext } from '../gateway/capability.ts'

/** The trace that a call continues upstream: the caller's, or one of its correlation's own. */
export function traceparentOf({
  correlation,
  invocationId,
}: Pick<CallContext, 'correlation' | 'invocationId'>): string {
  const given = correlation.trace_id ?? ''
  const traceId = /^(?!0{32})[0-9a-f]{32}$/.test(given) ? given : sha256(correlation.correlation_id).slice(0, 32)
  return formatTraceparent({ traceId, spanId: sha256(invocationId).slice(0, 16), sampled: true })
}
