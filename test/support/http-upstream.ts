// A host with the operations of a real server behind it.

import assert from 'node:assert/strict'
import { openEgress } from '../../src/adapters/egress/egress.ts'
import { openHttp } from '../../src/adapters/http/adapter.ts'
import type { HttpUpstream } from '../../src/model/config/upstream.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { setSecret } from '../../src/runtime/identity/secrets.ts'
import { anyone, givenHost, stillClock } from './host.ts'

type Operation = HttpUpstream['capabilities'][number]
export type Request = Operation['request']

export const operation = (request: Request, more: Partial<Operation['descriptor']> = {}): Operation => ({
  request,
  descriptor: {
    id: `depot.${request.method.toLowerCase()}`,
    version: '1.0.0',
    description: 'Asks the depot.',
    policy: {},
    ...more,
  },
})
export const get = operation({ method: 'GET', path: '/' })
export const post = operation({ method: 'POST', path: '/', body: { from: 'body', type: 'application/json' } })

export const token = 'tok-8d1f6c2e9b'

/** A host with the operations of a server behind it. */
export async function givenHttp(
  origin: string,
  operations: readonly Operation[],
  server: Partial<HttpUpstream['server']> = {},
) {
  const clock = stillClock()
  const deps = {
    secret: () => assert.fail(),
    egress: openEgress({ allow: [origin] }),
    clock,
    folder: '',
    notice: () => undefined,
  }
  const upstream: HttpUpstream = {
    adapter: 'http',
    name: 'depot',
    server: { url: origin, ...server },
    capabilities: [...operations],
  }
  const { capabilities } = openHttp(upstream, deps)
  const host = await givenHost({ capabilities })
  await setSecret(host.ambit, operator(host.host.tenant), 'depot', token)
  const call = (payload: object = {}, capability_id = capabilities[0]?.descriptor.id ?? '') =>
    host.call(anyone, { capability_id, payload })
  return { ...host, call, capabilities, clock }
}

export const ended = ({ outcome, error }: Awaited<ReturnType<Awaited<ReturnType<typeof givenHttp>>['call']>>) =>
  [outcome, error?.code ?? null, error?.effect ?? null] as const
