// Serves the fixture that the public conformance suite of the protocol runs against, until it is told to end.
//   npm run conformance:host -- --port 8787 --key K --scoped-key SK
// Prints one line when it is ready. Everything it writes is in memory, or in a folder that goes with it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { tenantId } from '../src/model/tenant-id.ts'
import { openAmbit } from '../src/runtime/ambit.ts'
import { openHost } from '../src/runtime/host.ts'
import { createTenant } from '../src/runtime/tenants.ts'
import { createApp } from '../src/server/app.ts'
import { conformanceOffer } from '../src/server/conformance.ts'
import { listen } from '../src/server/listen.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    key: { type: 'string' },
    'scoped-key': { type: 'string' },
  },
})
const { port, key, 'scoped-key': scopedKey } = values
if (key === undefined || scopedKey === undefined || !/^\d{1,5}$/.test(port)) {
  process.stderr.write('usage: npm run conformance:host -- --port P --key K --scoped-key SK\n')
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'ambit-conformance-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify({ store: { driver: 'sqlite', path: ':memory:' } }))
const ambit = await openAmbit({ folder, env: {} })
await createTenant(ambit, { id: 'conformance', hostId: 'ambit-conformance' })
const host = await openHost(ambit, tenantId('conformance'), conformanceOffer)
const app = createApp({
  ambit,
  host,
  access: {
    open: false,
    keys: [
      { name: null, secret: key, scopes: [] },
      { name: 'conformance-scoped', secret: scopedKey, scopes: ['conformance.echo'] },
    ],
  },
  onError: (error) => process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`),
})
const { url, close } = await listen(app, { port: Number(port) })
process.stderr.write('warning: this fixture believes the mandate of any principal\n')
process.stdout.write(`ready ${url}\n`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end())

async function end(): Promise<void> {
  await close()
  await host.close()
  await ambit.close()
  process.exit(0)
}
