import { canonical, type Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { digestUnder } from '../base/hash.ts'
import { readJson } from '../base/json.ts'
import type { FileRoot } from '../files/root.ts'
import type { Kdf } from '../model/sealed.ts'
import type { FileLock, Passphrase } from './passphrase.ts'

/** The content of a file that only its owner can reach, or undefined when there is none. */
export async function readPrivate(files: FileRoot, path: string, bytesMax: number): Promise<Buffer | undefined> {
  try {
    const mode = await files.mode(path)
    if ((mode & 0o077) === 0) return await files.read(path, { bytesMax })
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.not_found') return undefined
    throw error
  }
  const message = `${quote(path)} is open to others than its owner: run \`chmod 600\` on it`
  throw new Failure('key.permissions', message, { path })
}

type Members = { readonly [name: string]: Json | undefined }

/** The file as bytes, with a `mac` over its members: no change to any of them goes unnoticed. */
export function fileBytes(members: Members, key: Uint8Array): Buffer {
  return Buffer.from(`${JSON.stringify({ ...members, mac: macOf(members, key) }, null, 2)}\n`)
}

const macOf = (members: Members, key: Uint8Array): string => digestUnder(key)(['ambit-file-v1', canonical(members)])

/** What is known of a file before it is read. */
interface SealedForm<F> {
  readonly schema: { safeParse(value: unknown): { readonly data?: F | undefined } }
  readonly bytesMax: number
  /** Names the file: `the key of host x`. */
  readonly subject: string
  /** The failure when the file is not as we write it. */
  readonly damaged: () => Failure
}

/** Reads and unlocks a file; fails with `key.locked` for a wrong or missing passphrase. */
export async function openFile<F extends { readonly kdf: Kdf | null }>(
  bytes: Buffer,
  { schema, bytesMax, subject, damaged }: SealedForm<F>,
  passphrase: Passphrase | undefined,
) {
  const value = jsonIn(bytes, bytesMax)
  const { data: file } = schema.safeParse(value)
  if (file === undefined) throw damaged()
  const { mac, ...members } = value as Members
  return {
    file,
    lock: await unlock(file.kdf, passphrase, subject),
    /** To be called with the key of the `mac` before anything is believed. */
    checkMac: (key: Uint8Array): void => {
      if (mac !== macOf(members, key)) throw damaged()
    },
  }
}

/** Undefined, which no file is, when it is not JSON. */
function jsonIn(bytes: Buffer, bytesMax: number): Json | undefined {
  try {
    return readJson(bytes, { bytesMax })
  } catch {
    return undefined
  }
}

async function unlock(kdf: Kdf | null, passphrase: Passphrase | undefined, subject: string): Promise<FileLock> {
  if (kdf !== null) {
    if (passphrase === undefined) throw new Failure('key.locked', `${subject} is locked: its passphrase is needed`)
    return passphrase.unlock(kdf)
  }
  if (passphrase === undefined) return null
  // Otherwise an unlocked file could be put in the place of a locked one.
  const help = 'unset AMBIT_PASSPHRASE if it was made without one; otherwise restore the folder of keys'
  throw new Failure('key.invalid', `${subject} is not locked, but a passphrase is set`, {}, help)
}
