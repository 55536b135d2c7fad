import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Failure } from '../../base/failure.ts'
import { signedText } from '../../evidence/bundle.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import { signerOf } from '../../keys/signer.ts'
import type { EvidenceBundle } from '../../model/evidence.ts'
import { openAmbit } from '../../runtime/runtime.ts'
import { type Io, line, paint } from '../terminal/io.ts'

/** Something that was tried, and whether it was found out. */
export interface Attempt {
  readonly what: string
  readonly caught: boolean
  readonly message: string
}

type Forged = Omit<EvidenceBundle, 'events'> & { events: Record<string, unknown>[] }

const forgeries: readonly [what: string, forge: (bundle: Forged) => void][] = [
  [
    'blame another person for the release',
    ({ events }) => Object.assign(events.at(-1) ?? {}, { subject: { id: 'jo', type: 'user', verified: true } }),
  ],
  [
    'make the denial disappear',
    ({ events }) =>
      Object.assign(events.find((event) => event['event_type'] === 'execution_denied') ?? {}, { denial: null }),
  ],
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

/** Forges a bundle in every way there is in the list, and says whether the verifier noticed. */
export function tamper(io: Io, bundle: EvidenceBundle, pin: string): readonly Attempt[] {
  return forgeries.map(([what, forge]) => {
    const copy: Forged = structuredClone(bundle)
    forge(copy)
    const { valid, first } = verifyBundle(copy, { pins: [pin] })
    const message = first === null ? '' : `${first.message} (at ${first.at})`
    line(io, `  ${what.padEnd(38)} ${verdict(io, !valid, message)}`)
    return { what, caught: !valid, message }
  })
}

/** Removes the newest records behind Ambit's back, and says whether it starts all the same. */
export async function cutStore(io: Io, folder: string): Promise<Attempt> {
  const what = 'remove the newest records from the database, and their trace in it'
  const database = new DatabaseSync(join(folder, '.ambit', 'ambit.db'))
  database.exec('DELETE FROM events WHERE sequence > 6; DELETE FROM checkpoints')
  database.close()
  const message = (await refusal(folder)) ?? ''
  const caught = message !== ''
  line(io, `  ${verdict(io, caught, message)}`)
  if (caught) line(io, '  Ambit does not start on such a store: signed heads lie outside it.')
  return { what, caught, message }
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
