import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Failure } from '../base/failure.ts'
import { signedText } from '../evidence/bundle.ts'
import { verifyBundle } from '../evidence/verify.ts'
import { signerOf } from '../keys/signer.ts'
import type { EvidenceBundle } from '../model/evidence.ts'
import { tenantId } from '../model/tenant-id.ts'
import { type Ambit, openAmbit } from '../runtime/ambit.ts'
import { authenticate, issueKey } from '../runtime/api-keys.ts'
import { type Caller, operator } from '../runtime/caller.ts'
import { exportBundle } from '../runtime/evidence.ts'
import { createPrincipal, type NewPrincipal } from '../runtime/principals.ts'
import { record } from '../runtime/record.ts'
import { createTenant } from '../runtime/tenants.ts'
import { found, type Register } from './command.ts'
import { story, task } from './demo-story.ts'
import { writeOutput } from './files.ts'
import { type Io, line, paint, printJson } from './io.ts'
import { printReport } from './report.ts'

const register: Register = (command, io) => {
  command
    .option('--keep <file>', 'also write the exported bundle to this file, to try `ambit verify` on')
    .option('--json', 'print JSON for programs')
    .action(async (options: { keep?: string; json?: boolean }) => {
      const folder = mkdtempSync(join(tmpdir(), 'ambit-demo-'))
      const stage = options.json ? { ...io, out: () => undefined } : io
      try {
        const { bundle, publicKey } = await tell(stage, folder)
        if (options.keep !== undefined) writeOutput(io, options.keep, `${JSON.stringify(bundle, null, 2)}\n`)
        const attempts = [...tamper(stage, bundle, publicKey), await cutStore(stage, folder)]
        ending(stage, options.keep)
        if (options.json) printJson(io, { events: bundle.events.length, public_key: publicKey, attempts })
        if (attempts.some(({ caught }) => !caught)) found(io)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
}
export default register

/** A tenant, someone who acts, a small story, and the file that proves it. */
async function tell(io: Io, folder: string): Promise<{ bundle: EvidenceBundle; publicKey: string }> {
  line(io, 'An agent did something at work. What may it see, what may it do, and can you prove it afterwards?')
  const ambit = await openAmbit({ folder, env: {} })
  try {
    step(io, 1, 'A tenant, with a signing key of its own')
    const tenant = await createTenant(ambit, {
      id: 'northlight',
      name: 'Northlight Vaccines',
      roots: ['northlight/depot'],
    })
    const { keyId, publicKey } = await ambit.keyring.publicKeys(tenant.host_id)
    line(io, `  tenant \`${tenant.tenant_id}\` signs with key ${keyId}`)

    step(io, 2, 'Those who may act, each known by a key that is shown once and kept as a hash')
    const callers = {
      'stock-planner': await enrol(ambit, { id: 'stock-planner', kind: 'service', roles: ['planner'] }, ['depot.*']),
      ida: await enrol(ambit, { id: 'ida', kind: 'user', roles: ['responsible_pharmacist', 'auditor'] }, []),
    }
    for (const { subject } of Object.values(callers))
      line(io, `  ${subject.id.padEnd(14)} authenticated, roles: ${subject.roles?.join(', ')}`)

    step(io, 3, 'A small story: each record sealed to the one before, on disk before it is acknowledged')
    for (const { by, says, event } of story) {
      const [sealed] = (await record(ambit, callers[by], [event])).events
      line(
        io,
        `  ${String(sealed?.sequence).padStart(2)}  ${event.event_type.padEnd(20)} ${by.padEnd(14)} ${sealed?.contentHash.slice(0, 12)}…  ${paint(io, 'dim', says)}`,
      )
    }

    step(io, 4, 'One file for the auditor, checked without store, key or network')
    const bundle = await exportBundle(ambit, callers.ida, task)
    printReport(io, verifyBundle(bundle, { pins: [publicKey] }))
    return { bundle, publicKey }
  } finally {
    await ambit.close()
  }
}

/** Adds a principal, makes its key, and comes back with whoever that key says it is. */
async function enrol(ambit: Ambit, wish: NewPrincipal, scopes: readonly string[]): Promise<Caller> {
  const admin = operator(tenantId('northlight'))
  await createPrincipal(ambit, admin, wish)
  const { secret } = await issueKey(ambit, admin, { principal: wish.id, scopes })
  return authenticate(ambit, secret)
}

/** Something that was tried, and whether it was found out. */
interface Attempt {
  readonly what: string
  readonly caught: boolean
  readonly message: string
}

type Forged = Omit<EvidenceBundle, 'events'> & { events: Record<string, unknown>[] }

const forgeries: readonly [what: string, forge: (bundle: Forged) => void][] = [
  [
    'blame somebody else for the release',
    ({ events }) => Object.assign(events[3] ?? {}, { subject: { id: 'jo', type: 'user', verified: true } }),
  ],
  ['make the denial disappear', ({ events }) => Object.assign(events[1] ?? {}, { denial: null })],
  ['leave out the last record', ({ events }) => void events.pop()],
  ['swap two records', ({ events }) => void events.splice(1, 2, ...events.slice(1, 3).reverse())],
  ['sign it anew, with a key of their own', signAnew],
]

function signAnew(bundle: Forged): void {
  const { keyId: key_id, publicKey: public_key, sign } = signerOf(randomBytes(32))
  const signature = { algorithm: 'ed25519', key_id, signature: sign(signedText(bundle)) }
  Object.assign(bundle, { public_key, signature })
  delete bundle.host_identity
}

function tamper(io: Io, bundle: EvidenceBundle, pin: string): readonly Attempt[] {
  step(io, 5, 'Somebody edits the file')
  return forgeries.map(([what, forge]) => {
    const copy: Forged = structuredClone(bundle)
    forge(copy)
    const { valid, first } = verifyBundle(copy, { pins: [pin] })
    const message = first === null ? '' : `${first.message} (at ${first.at})`
    line(io, `  ${what.padEnd(38)} ${verdict(io, !valid, message)}`)
    return { what, caught: !valid, message }
  })
}

async function cutStore(io: Io, folder: string): Promise<Attempt> {
  const what = 'remove the newest records from the database, and their trace in it'
  step(io, 6, 'Somebody with the database removes the newest records, and their trace in it')
  const database = new DatabaseSync(join(folder, '.ambit', 'ambit.db'))
  database.exec('DELETE FROM events WHERE sequence > 6; DELETE FROM checkpoints')
  database.close()
  const message = await refusal(folder)
  line(io, `  ${verdict(io, message !== undefined, message ?? '')}`)
  if (message !== undefined) line(io, '  Ambit does not start on such a store: signed heads lie outside it.')
  return { what, caught: message !== undefined, message: message ?? '' }
}

/** Why Ambit does not start here; undefined when it does. */
async function refusal(folder: string): Promise<string | undefined> {
  try {
    await (await openAmbit({ folder, env: {} })).close()
    return undefined
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}

const verdict = (io: Io, caught: boolean, message: string): string =>
  caught ? `${paint(io, 'green', 'caught')}: ${message}` : paint(io, 'red', 'not noticed')

function ending(io: Io, kept: string | undefined): void {
  line(io)
  line(io, 'Next:')
  line(
    io,
    kept === undefined
      ? '  ambit demo --keep story.json     keep the file of step 4'
      : `  ambit verify ${kept}     check the file of step 4 yourself`,
  )
  line(io, '  ambit init                       write a configuration here')
  line(io, '  ambit --help                     everything there is')
}

const step = (io: Io, number: number, title: string): void => line(io, `\n${paint(io, 'bold', `${number}. ${title}`)}`)
