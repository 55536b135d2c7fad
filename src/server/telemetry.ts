import { randomBytes } from 'node:crypto'
import { type Context, isSpanContextValid, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api'
import { formatTraceparent, parseTraceparent, type TraceParent } from '../base/trace.ts'
import { version } from '../base/version.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'

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

export type Traced = ReturnType<typeof traceRequest>

/** Begins the span of a request, as part of the trace it came with or of a new one. */
export function traceRequest(headers: Headers, method: string) {
  const tracer = trace.getTracer(names.tracer, version)
  const parent = parseTraceparent(headers.get('traceparent') ?? '')
  const context = contextOf(parent)
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes: { [names.method]: method } }, context)
  const here = placeOf(span, parent)
  return {
    traceId: here.traceId,
    /** The header that tells the caller under which trace it was answered. */
    traceparent: formatTraceparent(here),
    /** Begins the span of an invocation within that of the request. */
    invocation: () => {
      const inner = tracer.startSpan(names.invocation, { kind: SpanKind.INTERNAL }, trace.setSpan(context, span))
      return {
        ended: (outcome: string, denial: string | undefined): void => {
          inner.setAttribute(names.outcome, outcome)
          if (denial !== undefined) inner.setAttribute(names.denial, denial)
          inner.end()
        },
      }
    },
    ended: (route: string, status: number): void => {
      span.updateName(`${method} ${route}`)
      span.setAttribute(names.route, route)
      span.setAttribute(names.status, status)
      span.end()
    },
  }
}

function contextOf(parent: TraceParent | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, spanId, sampled } = parent
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: sampled ? 1 : 0, isRemote: true })
}

/** Where we are in the trace. Without a tracer the span has no place of its own: then it gets a name all the same. */
function placeOf(span: Span, remote: TraceParent | undefined): TraceParent {
  const own = span.spanContext()
  if (isSpanContextValid(own) && own.spanId !== remote?.spanId)
    return { traceId: own.traceId, spanId: own.spanId, sampled: (own.traceFlags & 1) === 1 }
  const random = randomBytes(24).toString('hex')
  const { traceId = random.slice(16), sampled = false } = remote ?? {}
  return { traceId, spanId: random.slice(0, 16), sampled }
}

export type Counts = ReturnType<typeof openCounts>

/** Each tenant has counts of its own: what the others do is not for it to see. */
export function openCountsByTenant(): (tenant: TenantId) => Counts {
  const byTenant = new Map<TenantId, Counts>()
  return (tenant) => {
    const counts = byTenant.get(tenant) ?? openCounts()
    byTenant.set(tenant, counts)
    return counts
  }
}

/** Counts of what the server did for one tenant, in the text form of Prometheus. Labels have few values, none of them a caller's. */
function openCounts() {
  const requests = new Map<string, number>()
  const invocations = new Map<string, number>()
  const count = (counts: Map<string, number>, labels: string) => void counts.set(labels, (counts.get(labels) ?? 0) + 1)
  return {
    request: (route: string, status: number) => count(requests, `{route="${route}",status="${status}"}`),
    invocation: (outcome: string) => count(invocations, `{outcome="${outcome}"}`),
    text: ({ inFlight, events }: { readonly inFlight: number; readonly events: number }) =>
      [
        ...series('ambit_requests_total', 'counter', 'Requests answered.', requests),
        ...series('ambit_invocations_total', 'counter', 'Invocations by outcome.', invocations),
        ...series('ambit_requests_in_flight', 'gauge', 'Requests being answered now.', [['', inFlight]]),
        ...series('ambit_evidence_events', 'gauge', 'Events recorded.', [['', events]]),
        '',
      ].join('\n'),
  }
}

const series = (name: string, type: string, help: string, values: Iterable<readonly [string, number]>): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...Array.from(values, ([labels, value]) => `${name}${labels} ${value}`),
]
