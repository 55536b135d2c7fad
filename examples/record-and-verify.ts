// Opens Ambit in a folder of its own, records a small task, and proves it from the exported file alone.
// Run it with `npx node examples/record-and-verify.ts`.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// cut: import
import {
  authenticate,
  createPrincipal,
  createTenant,
  exportBundle,
  identityOf,
  issueKey,
  openAmbit,
  operator,
  record,
  tenantId,
  verifyBundle,
} from '../src/index.ts'

// end

const folder = mkdtempSync(join(tmpdir(), 'ambit-example-'))
try {
  await main()
} finally {
  rmSync(folder, { recursive: true })
}

async function main(): Promise<void> {
  // cut: open
  // Everything lies in `.ambit/` of this folder. `env` is where the passphrase would be found.
  const ambit = await openAmbit({ folder, env: process.env })
  // end
  try {
    // cut: enrol
    await createTenant(ambit, { id: 'acme', name: 'Acme', roots: ['acme/desk'] })
    const admin = operator(tenantId('acme'))
    await createPrincipal(ambit, admin, { id: 'refund-agent', kind: 'agent' })
    const { secret } = await issueKey(ambit, admin, { principal: 'refund-agent' })
    const caller = await authenticate(ambit, secret)
    // end

    // cut: record
    const task = { correlation: { correlation_id: 'ticket-4711' }, capability_id: 'billing.refund' }
    await record(ambit, caller, [{ ...task, event_type: 'execution_started', payload: { order: 'A-17' } }])
    const { events } = await record(ambit, caller, [
      { ...task, event_type: 'execution_completed', outcome: 'success', payload: { order: 'A-17', cents: 1250 } },
    ])
    console.log(`sealed event ${events[0]?.sequence} for ${caller.subject.id}`)
    // end

    const bundle = await exportBundle(ambit, admin, 'ticket-4711')
    const { public_key } = await identityOf(ambit, admin)
    const report = verifyBundle(bundle, { pins: [public_key ?? ''] })
    console.log(`${report.events} events, valid: ${report.valid}, covered: ${report.covered}`)
  } finally {
    await ambit.close()
  }
}
