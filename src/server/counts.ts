import type { TenantId } from '../model/identity/tenant-id.ts'

/** Counts of what the server did for one tenant, in the text form of Prometheus. Labels have few values, none of them a caller's. */
export interface Counts {
  request(route: string, status: number): void
  invocation(outcome: string): void
  text(gauges: Readonly<Record<string, number>>): string
}

/** Each tenant has counts of its own: what the others do is not for it to see. */
export function openCountsByTenant(): (tenant: TenantId) => Counts {
  const byTenant = new Map<TenantId, Counts>()
  return (tenant) => {
    const counts = byTenant.get(tenant) ?? openCounts()
    byTenant.set(tenant, counts)
    return counts
  }
}

function openCounts(): Counts {
  const requests = new Map<string, number>()
  const invocations = new Map<string, number>()
  return {
    request: (route, status) => count(requests, `route="${route}",status="${status}"`),
    invocation: (outcome) => count(invocations, `outcome="${outcome}"`),
    text: (gauges) =>
      [
        ...series('ambit_requests_total', 'counter', 'Requests answered.', requests),
        ...series('ambit_invocations_total', 'counter', 'Invocations by outcome.', invocations),
        ...Object.entries(gauges).flatMap(([name, value]) =>
          series(`ambit_${name}`, 'gauge', helps[name] ?? name, new Map([['', value]])),
        ),
        '',
      ].join('\n'),
  }
}

const helps: Readonly<Record<string, string>> = {
  requests_in_flight: 'Requests being answered now.',
  evidence_events: 'Events recorded.',
}

function count(counts: Map<string, number>, labels: string): void {
  counts.set(labels, (counts.get(labels) ?? 0) + 1)
}

const series = (name: string, type: string, help: string, values: ReadonlyMap<string, number>): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...[...values].map(([labels, value]) => (labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`)),
]
