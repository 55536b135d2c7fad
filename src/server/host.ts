import { version } from '../base/version.ts'
import { identityFor, manifestOf, wireVersion } from '../chp/manifest.ts'
import type { Health } from '../model/wire/wire.ts'
import { countEvents } from '../runtime/evidence/reading.ts'
import { always, json } from './answer.ts'
import type { Route, RouteRequest } from './route.ts'

const health = ({ host }: RouteRequest): Response => {
  const versions = { version: wireVersion, host_version: version }
  const body: Health = { status: 'ok', host_id: host.hostId, protocol: 'chp', ...versions }
  return json(body)
}

const metricsType = 'text/plain; version=0.0.4'
const healthy = { method: 'GET', public: true, answers: { 200: { schema: 'health' } }, handle: health } as const

export const hostRoutes: readonly Route[] = [
  { ...healthy, path: '/', summary: 'Says that the host is there.' },
  { ...healthy, path: '/health', summary: 'Says that the host is there.' },
  {
    method: 'GET',
    path: '/v1/ready',
    summary: 'Says whether the host can take calls: 204, or 503 while its store cannot be used.',
    public: true,
    answers: { 204: [], 503: [] },
    handle: async ({ ready }) =>
      new Response(null, { status: (await ready()) === undefined ? 204 : 503, headers: always }),
  },
  {
    method: 'GET',
    path: '/.well-known/chp-identity',
    summary: 'The keys of the host, for everybody.',
    public: true,
    answers: { 200: { schema: 'identity-document' } },
    handle: async ({ ambit, host }) => json(await identityFor(ambit, host)),
  },
  {
    method: 'GET',
    path: '/host',
    summary: 'The manifest of the host, with what this caller may call.',
    answers: { 200: { schema: 'host-descriptor' } },
    handle: async ({ ambit, host, by }) => json(await manifestOf(ambit, host, by)),
  },
  {
    method: 'GET',
    path: '/capabilities',
    summary: 'What this caller may call.',
    answers: { 200: { schema: 'capability-list' } },
    handle: ({ host, by }) => json({ capabilities: host.gateway.discover(by) }),
  },
  {
    method: 'GET',
    path: '/metrics',
    summary: 'Counts of what the server did, in the text form of Prometheus.',
    answers: { 200: { type: metricsType } },
    handle: async ({ ambit, host, counts, concurrency }) => {
      const gauges = {
        requests_in_flight: concurrency.size(host.tenant),
        evidence_events: await countEvents(ambit, host.tenant),
      }
      return new Response(counts.text(gauges), { headers: { ...always, 'content-type': metricsType } })
    },
  },
]
