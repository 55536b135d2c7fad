import { SpanKind } from '@opentelemetry/api'
import { formatTraceparent, parseTraceparent } from '../base/trace.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { beginSpan } from '../runtime/trace.ts'

/** Every name under which the server tells tracers something. Nothing of what is asked or answered is among them. */
const names = {
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
  const parent = parseTraceparent(headers.get('traceparent') ?? '')
  const span = beginSpan(method, parent, { kind: SpanKind.SERVER, attributes: { [names.method]: method } })
  return {
    traceId: span.place.traceId,
    place: span.place,
    /** The header that tells the caller under which trace it was answered. */
    traceparent: formatTraceparent(span.place),
    /** Begins the span of an invocation within that of the request. */
    invocation: () => {
      const inner = beginSpan(names.invocation, span.place)
      return {
        ended: (outcome: string, denial: string | undefined): void =>
          inner.end({ [names.outcome]: outcome, ...(denial !== undefined && { [names.denial]: denial }) }),
      }
    },
    ended: (route: string, status: number): void => {
      span.rename(`${method} ${route}`)
      span.end({ [names.route]: route, [names.status]: status })
    },
  }
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
