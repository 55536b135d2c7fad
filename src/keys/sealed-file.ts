import { canonical, type Json } from '../base/canonical.ts'
import type { FailureCode } from '../base/codes.ts'
import { Failure, quote } from '../base/failure.ts'
import { keyedDigest } from '../base/hash.ts'
import { readJson } from '../base/json.ts'
import type { FileRoot } from '../files/root.ts'
import { type FileKeys, type Kdf, kdfName, type Passphrase } from './passphrase.ts'

export type Members = { readonly [name: string]: Json | undefined }

/** A file is not as we write it. The caller reports which file it was. */
export class Damage extends Error {}

/** The content of a file that only its owner can reach, or undefined when there is none. */
export async function readPrivate(files: FileRoot, path: string, bytesMax: number): Promise<Buffer | undefined> {
  try {
    const mode = await files.mode(path)
    if ((mode & 0o077) === 0) return await files.read(path, { bytesMax })
  } catch (error) {
    if (failedWith(error, 'file.not_found')) return undefined
    throw error
  }
  const message = `${quote(path)} is open to others than its owner: run \`chmod 600\` on it`
  throw new Failure('key.permissions', message, { path })
}

export const failedWith = (error: unknown, code: FailureCode): boolean =>
  error instanceof Failure && error.code === code

/** The members of a file of this version; its `mac` is for `checkMac`. */
export function fileMembers(bytes: Buffer, version: string, bytesMax: number): Members {
  let value: Json
  try {
    value = readJson(bytes, { bytesMax })
  } catch {
    throw new Damage()
  }
  const members = membersOf(value)
  if (members['v'] !== version) throw new Damage()
  return members
}

/** The file as bytes, with a `mac` over its members: no change to any of them goes unnoticed. */
export function fileBytes(members: Members, key: Uint8Array): Buffer {
  return Buffer.from(`${JSON.stringify({ ...members, mac: macOf(members, key) }, null, 2)}\n`)
}

export function checkMac({ mac, ...members }: Members, key: Uint8Array): void {
  if (mac !== macOf(members, key)) throw new Damage()
}

const macOf = (members: Members, key: Uint8Array): string => keyedDigest(key, ['ambit-file-v1', canonical(members)])

export function membersOf(value: Json | undefined): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Damage()
  return value as Members
}

export function textOf(members: Members, name: string): string {
  const value = members[name]
  if (typeof value !== 'string') throw new Damage()
  return value
}

export function listOf(members: Members, name: string): readonly Json[] {
  const value = members[name]
  if (!Array.isArray(value)) throw new Damage()
  return value
}

/** What a file is locked with; undefined for one that is not locked. */
export type FileLock = { readonly keys: FileKeys; readonly kdf: Kdf } | undefined

/** Unlocks a file; fails with `key.locked` without its passphrase. `subject` names the file: `the key of host x`. */
export async function unlockFile(
  members: Members,
  passphrase: Passphrase | undefined,
  subject: string,
): Promise<FileLock> {
  const kdf = kdfOf(members)
  if (kdf !== undefined) {
    if (passphrase === undefined) throw new Failure('key.locked', `${subject} is locked: its passphrase is needed`)
    return { keys: await passphrase.unlock(kdf), kdf }
  }
  if (passphrase === undefined) return undefined
  // Otherwise an unlocked file could be put in the place of a locked one.
  const help = 'unset AMBIT_PASSPHRASE if it was made without one; otherwise restore the folder of keys'
  throw new Failure('key.invalid', `${subject} is not locked, but a passphrase is set`, {}, help)
}

function kdfOf(members: Members): Kdf | undefined {
  if (members['kdf'] === null) return undefined
  const kdf = membersOf(members['kdf'])
  if (kdf['name'] !== kdfName) throw new Damage()
  return { name: kdfName, salt: textOf(kdf, 'salt'), check: textOf(kdf, 'check') }
}
