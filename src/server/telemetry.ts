import { randomBytes } from 'node:crypto'
import { type Context, isSpanContextValid, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api'
import { formatTraceparent, parseTraceparent, type TraceParent } from '../base/trace.ts'
import { version } from '../base/version.ts'

/** Every name under which the server tells tracers something. Nothing of what is asked or answered is among them. */
const names = {
  tracer: 'ambit',
  invocation: 'invoke',
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  outcome: 'ambit.invocation.outcome',
  denial: 'ambit.invocation.denial',
} as const

export interface Traced {
  readonly traceId: string
  /** The header that tells the caller under which trace it was answered. */
  readonly traceparent: string
  /** Begins the span of an invocation within that of the request. */
  invocation(): { ended(outcome: string, denial: string | undefined): void }
  ended(route: string, status: number): void
}

/** Begins the span of a request, as part of the trace it came with or of a new one. */
export function traceRequest(headers: Headers, method: string): Traced {
  const tracer = trace.getTracer(names.tracer, version)
  const parent = contextOf(headers.get('traceparent'))
  const options = { kind: SpanKind.SERVER, attributes: { [names.method]: method } }
  const span = tracer.startSpan(method, options, parent.context)
  const here = placeOf(span, parent.remote)
  return {
    traceId: here.traceId,
    traceparent: formatTraceparent(here),
    invocation: () => {
      const inner = tracer.startSpan(names.invocation, { kind: SpanKind.INTERNAL }, trace.setSpan(parent.context, span))
      return {
        ended: (outcome, denial) => {
          inner.setAttribute(names.outcome, outcome)
          if (denial !== undefined) inner.setAttribute(names.denial, denial)
          inner.end()
        },
      }
    },
    ended: (route, status) => {
      span.updateName(`${method} ${route}`)
      span.setAttribute(names.route, route)
      span.setAttribute(names.status, status)
      span.end()
    },
  }
}

function contextOf(header: string | null): {
  readonly context: Context
  readonly remote: TraceParent | undefined
} {
  const parent = parseTraceparent(header ?? '')
  if (parent === undefined) return { context: ROOT_CONTEXT, remote: undefined }
  const { traceId, spanId, sampled } = parent
  const spanContext = { traceId, spanId, traceFlags: sampled ? 1 : 0, isRemote: true }
  return { context: trace.setSpanContext(ROOT_CONTEXT, spanContext), remote: parent }
}

/** Where we are in the trace. Without a tracer the span has no place of its own: then it gets a name all the same. */
function placeOf(span: Span, remote: TraceParent | undefined): TraceParent {
  const own = span.spanContext()
  if (isSpanContextValid(own) && own.spanId !== remote?.spanId)
    return { traceId: own.traceId, spanId: own.spanId, sampled: (own.traceFlags & 1) === 1 }
  const random = randomBytes(24).toString('hex')
  return {
    traceId: remote?.traceId ?? random.slice(16),
    spanId: random.slice(0, 16),
    sampled: remote?.sampled ?? false,
  }
}
