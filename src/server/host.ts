import { version } from '../base/version.ts'
import type { Health } from '../model/wire.ts'
import { identityFor, manifestOf, wireVersion } from '../runtime/manifest.ts'
import { json } from './answer.ts'
import type { Ask, Route } from './route.ts'

const health = ({ deps: { host } }: Ask): Response => {
  const body: Health = {
    status: 'ok',
    host_id: host.hostId,
    protocol: 'chp',
    version: wireVersion,
    host_version: version,
  }
  return json(body)
}

const healthy = { method: 'GET', public: true, answers: { 200: { schema: 'health' } }, handle: health } as const

export const hostRoutes: readonly Route[] = [
  { ...healthy, path: '/', summary: 'Says that the host is there.' },
  { ...healthy, path: '/health', summary: 'Says that the host is there.' },
  {
    method: 'GET',
    path: '/.well-known/chp-identity',
    summary: 'The keys of the host, for everybody.',
    public: true,
    answers: { 200: { schema: 'identity-document' } },
    handle: async ({ deps: { ambit, host } }) => json(await identityFor(ambit, host)),
  },
  {
    method: 'GET',
    path: '/host',
    summary: 'The manifest of the host, with what this caller may call.',
    answers: { 200: { schema: 'host-descriptor' } },
    handle: async ({ deps: { ambit, host }, visitor }) => json(await manifestOf(ambit, host, visitor.caller)),
  },
  {
    method: 'GET',
    path: '/capabilities',
    summary: 'What this caller may call.',
    answers: { 200: { schema: 'capability-list' } },
    handle: ({ deps: { host }, visitor }) => json({ capabilities: host.gateway.discover(visitor.caller) }),
  },
]
