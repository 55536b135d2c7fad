import { limits } from './limits.ts'

/** The part of a W3C trace context that travels in `traceparent`. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s

/** Undefined for anything malformed: the caller then starts a new trace. */
export function parseTraceparent(header: string): TraceParent | undefined {
  const match = traceparent.exec(trimmed(header))
  if (match === null) return undefined
  const [, version, traceId = '', spanId = '', flags = '', rest] = match
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const formatTraceparent = (trace: TraceParent): string =>
  `00-${trace.traceId}-${trace.spanId}-${trace.sampled ? '01' : '00'}`

/** One vendor's entry of `tracestate`, in the order sent. */
export type TraceState = readonly (readonly [key: string, value: string])[]

const stateKey = /^[a-z0-9][a-z0-9_\-*/@]{0,255}$/
const stateValue = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** Undefined for anything malformed: the header is then dropped whole, `traceparent` stays. Of a repeated key the first counts. */
export function parseTracestate(header: string): TraceState | undefined {
  const entries: [string, string][] = []
  for (const item of header.split(',')) {
    const member = trimmed(item)
    if (member === '') continue
    const at = member.indexOf('=')
    const key = member.slice(0, at)
    const value = member.slice(at + 1)
    if (at < 1 || !stateKey.test(key) || !stateValue.test(value)) return undefined
    if (!entries.some(([known]) => known === key)) entries.push([key, value])
  }
  return entries.length > limits.tracestateMembersMax ? undefined : entries
}

export const formatTracestate = (state: TraceState): string => state.map(([key, value]) => `${key}=${value}`).join(',')

/** The trace a request came with: nothing without a good `traceparent`; names are compared without case. */
export function readTrace(headers: Iterable<readonly [name: string, value: string]>): {
  readonly parent: TraceParent | undefined
  readonly state: TraceState
} {
  const named = new Map([...headers].map(([name, value]) => [name.toLowerCase(), value]))
  const parent = parseTraceparent(named.get('traceparent') ?? '')
  const state = parent && parseTracestate(named.get('tracestate') ?? '')
  return { parent, state: state ?? [] }
}

const trimmed = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '')
