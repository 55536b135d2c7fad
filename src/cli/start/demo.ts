import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import type { EvidenceBundle } from '../../model/evidence.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { exportBundle } from '../../runtime/evidence/export.ts'
import { openConfiguredHost } from '../../runtime/hosting/configured-host.ts'
import { authenticate, issueKey } from '../../runtime/identity/api-keys.ts'
import { addApprover } from '../../runtime/identity/approvers.ts'
import { type Caller, operator } from '../../runtime/identity/caller.ts'
import { createPrincipal, type NewPrincipal } from '../../runtime/identity/principals.ts'
import { createTenant } from '../../runtime/identity/tenants.ts'
import { openAmbit, type Runtime } from '../../runtime/runtime.ts'
import { printReport } from '../evidence/report.ts'
import { writeOutput } from '../terminal/files.ts'
import { found, type Io, line, paint, printJson, type Register } from '../terminal/io.ts'
import { cutStore, tamper } from './demo-forgeries.ts'
import { askKnowledge } from './demo-knowledge.ts'
import { demoAgents, playRuns } from './demo-runs.ts'
import { offered, playStory, task } from './demo-story.ts'

export default ((command, io) => {
  command
    .option('--keep <file>', 'also write the exported bundle to this file, to try `ambit verify` on')
    .option('--json', 'print JSON for programs')
    .action(async (options: { keep?: string; json?: boolean }) => {
      const folder = mkdtempSync(join(tmpdir(), 'ambit-demo-'))
      const stage = options.json ? { ...io, out: () => undefined } : io
      try {
        const { bundle, publicKey } = await tell(stage, folder)
        if (options.keep !== undefined) writeOutput(io, options.keep, `${JSON.stringify(bundle, null, 2)}\n`)
        step(stage, 8, 'An attacker edits the file')
        const edits = tamper(stage, bundle, publicKey)
        step(stage, 9, 'An attacker with the database removes the newest records, and their trace in it')
        const attempts = [...edits, await cutStore(stage, folder)]
        ending(stage, options.keep)
        if (options.json) printJson(io, { events: bundle.events.length, public_key: publicKey, attempts })
        if (attempts.some(({ caught }) => !caught)) found(io)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
}) satisfies Register

const tenant = tenantId('northlight')

/** A tenant, someone who acts, a small story, and the file that proves it. */
async function tell(io: Io, folder: string): Promise<{ bundle: EvidenceBundle; publicKey: string }> {
  line(io, 'An agent did something at work. What may it see, what may it do, and can you prove it afterwards?')
  const ambit = await openAmbit({ folder, env: {} })
  try {
    step(io, 1, 'A tenant, with a signing key of its own')
    await createTenant(ambit, { id: tenant, name: 'Northlight Vaccines', roots: ['northlight/depot'] })
    const { keyId, publicKey } = await ambit.keyring.publicKeys(tenant)
    line(io, `  tenant \`${tenant}\` signs with key ${keyId}`)

    step(io, 2, 'Those who may act, each known by a key that is shown once and kept as a hash')
    const agent = { id: 'stock-planner', kind: 'agent', roles: ['planner'], permissions: ['stock:release'] } as const
    const planner = await enrol(ambit, agent, ['depot.*'])
    const ida = await enrol(
      ambit,
      { id: 'ida', kind: 'user', roles: ['responsible_pharmacist', 'auditor', 'grantor'] },
      [],
    )
    for (const { subject } of [planner, ida])
      line(io, `  ${subject.id.padEnd(14)} authenticated, roles: ${subject.roles?.join(', ')}`)
    await addApprover(ambit, operator(tenant), { principal: 'ida', roles: ['responsible_pharmacist'] })

    step(io, 3, 'What it may see: facts that fit the question, as data, in a fence that no text can leave')
    await askKnowledge(io, join(folder, 'knowledge'))

    const { policies = [], ...spec } = offered
    const hosting = { ...ambit.settings.hosting, spec, policies: [...policies], agents: demoAgents() }
    const host = await openConfiguredHost(ambit, tenant, undefined, { hosting })
    step(io, 4, 'What it may touch: two clerks, each granted one customer, and one is talked into looking at the other')
    await playRuns(io, ambit, ida, host, publicKey)

    step(io, 5, 'Calls through the gateway: rules decide, and nothing happens that is not on the disk before')
    await playStory(io, host, planner, ida)
    await host.close()

    step(io, 6, 'What is on record of those calls: each event sealed to the one before')
    const bundle = await exportBundle(ambit, ida, task)
    for (const { sequence, event_type, subject, content_hash } of bundle.events) {
      const who = (subject?.id ?? '').padEnd(14)
      line(io, `  ${String(sequence).padStart(2)}  ${event_type.padEnd(24)} ${who} ${content_hash?.slice(0, 12)}…`)
    }

    step(io, 7, 'One file for the auditor, checked without store, key or network')
    printReport(io, { ...verifyBundle(bundle, { pins: [publicKey] }), story: [] })
    return { bundle, publicKey }
  } finally {
    await ambit.close()
  }
}

/** Adds a principal, makes its key, and returns the caller that the key authenticates. */
async function enrol(ambit: Runtime, wish: NewPrincipal, scopes: readonly string[]): Promise<Caller> {
  const admin = operator(tenant)
  await createPrincipal(ambit, admin, wish)
  const { secret } = await issueKey(ambit, admin, { principal: wish.id, scopes })
  return authenticate(ambit, secret)
}

function ending(io: Io, kept: string | undefined): void {
  line(io, '\nNext:')
  if (kept === undefined) line(io, '  ambit demo --keep story.json     keep the file of step 7')
  else line(io, `  ambit verify ${kept}     check the file of step 7 yourself`)
  line(io, '  ambit init                       write a configuration here')
  line(io, '  ambit --help                     everything there is')
}

const step = (io: Io, number: number, title: string): void => line(io, `\n${paint(io, 'bold', `${number}. ${title}`)}`)
