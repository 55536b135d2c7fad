// The sides of the HTTP benchmarks, each in a process of its own: `node bench/http-server.ts ours|fixture|peer <folder>`.

import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { conformanceOffer } from '../src/chp/conformance.ts'
import { tenantId } from '../src/model/identity/tenant-id.ts'
import { openHost } from '../src/runtime/hosting/host.ts'
import { openHosts } from '../src/runtime/hosting/hosts.ts'
import { defineCapability, makeOffer } from '../src/runtime/hosting/offer.ts'
import { createTenant } from '../src/runtime/identity/tenants.ts'
import { openAmbit } from '../src/runtime/runtime.ts'
import { createApp } from '../src/server/app.ts'
import { listen } from '../src/server/listen.ts'

const [side, folder = ''] = process.argv.slice(2)
process.stdout.write(`${side === 'peer' ? await peer() : await ours()}\n`)

/** The product as it is installed: SQLite on the disk, `synchronous = FULL`, signed heads, a key. */
async function ours(): Promise<string> {
  const ambit = await openAmbit({ folder, env: {} })
  await createTenant(ambit, { id: 'bench' })
  const echo = defineCapability(
    { id: 'bench.echo', version: '1.0.0', description: 'Answers its value.', policy: { auth_required: false } },
    (input) => ({ echo: (input as { value: string }).value }),
  )
  const offer = (hostId: string) =>
    side === 'fixture' ? conformanceOffer(hostId) : makeOffer(hostId, { capabilities: [echo] })
  const hosts = await openHosts(ambit, tenantId('bench'), (tenant, process) =>
    openHost(ambit, tenant, offer, { process }),
  )
  const access = { open: false, keys: [{ name: null, secret: 'bench', scopes: [] }] }
  const limits = { requestsPerSecondMax: 1_000_000 }
  return (await listen(createApp({ ambit, hosts, access, limits }), { port: 0 })).url
}

/** The same server software, which reads the body and gives it back. */
function peer(): Promise<string> {
  const app = new Hono()
  app.post('/invoke', async (c) => c.json({ echo: await c.req.json() }))
  return new Promise((resolve) =>
    serve({ fetch: app.fetch, port: 0 }, ({ port }) => resolve(`http://127.0.0.1:${port}`)),
  )
}
