import { countEvents } from '../runtime/reading.ts'
import { always } from './answer.ts'
import type { Route } from './route.ts'

const type = 'text/plain; version=0.0.4'

export const metricsRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/metrics',
    summary: 'Counts of what the server did, in the text form of Prometheus.',
    answers: { 200: { type } },
    handle: async ({ deps: { ambit, host, counts, crowd } }) => {
      const gauges = { requests_in_flight: crowd.size(), evidence_events: await countEvents(ambit, host.tenant) }
      return new Response(counts.text(gauges), { headers: { ...always, 'content-type': type } })
    },
  },
]
