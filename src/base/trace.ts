/** The part of a W3C trace context that travels in `traceparent`. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s

/** Undefined for anything malformed: the caller then starts a new trace. */
export function parseTraceparent(header: string): TraceParent | undefined {
  const match = traceparent.exec(header.replace(/^[ \t]+|[ \t]+$/g, ''))
  if (match === null) return undefined
  const [, version, traceId = '', spanId = '', flags = '', rest] = match
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const formatTraceparent = (trace: TraceParent): string =>
  `00-${trace.traceId}-${trace.spanId}-${trace.sampled ? '01' : '00'}`
