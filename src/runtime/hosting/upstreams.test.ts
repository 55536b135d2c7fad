import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished, test } from 'vitest'
import { givenAmbit, givenTenant } from '../../../test/cli/given.ts'
import type { Config } from '../../model/config/config.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { settleHosting } from '../settings/hosting.ts'
import type { AmbitConfig } from '../settings/user-config.ts'
import { openConfiguredHost } from './configured-host.ts'

/** A server that answers when the test says so. */
async function givenSlowServer() {
  const waiting: ServerResponse[] = []
  const server = createServer((_, response) => void waiting.push(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const answer = () => {
    for (const response of waiting.splice(0))
      response.setHeader('content-type', 'application/json').end('{"done":true}')
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, waiting, answer }
}

const configFor = (url: string, description: string): Omit<Config, 'host'> => ({
  tenant: 'acme',
  egress: { allow: [url] },
  upstreams: [
    {
      adapter: 'http',
      name: 'slow',
      server: { url },
      capabilities: [
        {
          request: { method: 'POST', path: '/move' },
          descriptor: {
            id: 'slow.move',
            version: '1.0.0',
            description,
            side_effects: ['http.POST'],
            policy: { auth_required: false },
          },
        },
      ],
    },
  ],
})

test('a call under way ends as it began when its upstream is offered in another form, or no more [H-90]', async () => {
  const { url, waiting, answer } = await givenSlowServer()
  const ambit = await givenAmbit({ config: configFor(url, 'Moves.') })
  await givenTenant(ambit)
  const host = await openConfiguredHost(ambit, tenantId('acme'))
  onTestFinished(() => host.close())
  const caller = { subject: null, name: 'anonymous', scopes: [], permissions: [], revokedPermissions: [] }
  const calling = host.gateway.invoke(caller, { capability_id: 'slow.move' })
  while (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const { folder } = ambit.settings.hosting
  await host.reload(settleHosting(configFor(url, 'Moves, and says so.') as AmbitConfig, folder))
  await host.reload(settleHosting({ tenant: 'acme' }, folder))
  assert.deepEqual(host.current().registry.all(), [])
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  answer()
  assert.deepEqual((await calling).result.data, { done: true })
})
