import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { Failure } from '../base/failure.ts'
import type { Clock } from '../base/time.ts'
import type { FileRoot } from '../files/root.ts'
import type { Kdf } from '../model/sealed.ts'
import type { Random } from './cipher.ts'

/** The folder of keys and secrets, and what it takes to use it. */
export interface KeyFolder {
  /** Best 0700. */
  readonly files: FileRoot
  /** Encrypts keys and secrets. Without one keys lie in plain text, and secrets under a master key in a file of its own. */
  readonly passphrase?: string
  readonly clock: Clock
  readonly random: Random
}

/** Keys of one file: one to encrypt with, one to protect the whole file from changes. */
export interface FileKeys {
  readonly encryption: Buffer
  readonly integrity: Buffer
}

/** What a file is locked with; null for one that is not locked. */
export type FileLock = { readonly keys: FileKeys; readonly kdf: Kdf } | null

export interface Passphrase {
  /** The lock of a new file. */
  fresh(): Promise<NonNullable<FileLock>>
  /** The lock of a file; a wrong passphrase fails with `key.locked`. */
  unlock(kdf: Kdf): Promise<NonNullable<FileLock>>
}

const cost = { N: 32768, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }
const checkBytes = 16

/** Deriving takes a fifth of a second by design, so the keys of each salt are cached. */
export function passphraseIn({ passphrase: text, random }: KeyFolder): Passphrase | undefined {
  if (text === undefined) return undefined
  if (text === '')
    throw new Failure('key.invalid', 'the passphrase is empty', {}, 'set one, or leave it out altogether')
  const derived = new Map<string, Promise<NonNullable<FileLock>>>()
  const derive = (salt: string): Promise<NonNullable<FileLock>> => {
    const known = derived.get(salt) ?? deriveFrom(text, salt)
    derived.set(salt, known)
    return known
  }
  return {
    fresh: () => derive(Buffer.from(random(16)).toString('base64')),
    unlock: async ({ salt, check }) => {
      const lock = await derive(salt)
      if (lock.kdf.check !== check)
        throw new Failure('key.locked', 'the passphrase is not the one this file was locked with')
      return lock
    },
  }
}

const scryptAsync = promisify<string, Buffer, number, typeof cost, Buffer>(scrypt)

// One passphrase can be typed as different code points on different keyboards; NFC makes them the same.
async function deriveFrom(text: string, salt: string): Promise<NonNullable<FileLock>> {
  const bytes = await scryptAsync(text.normalize('NFC'), Buffer.from(salt, 'base64'), fileKeysBytes + checkBytes, cost)
  const check = bytes.subarray(fileKeysBytes).toString('base64')
  return { keys: fileKeys(bytes), kdf: { name: 'scrypt-32768-8-3', salt, check } }
}

export const fileKeysBytes = 64

/** The two keys, from the first 64 bytes. */
export const fileKeys = (bytes: Buffer): FileKeys => ({
  encryption: bytes.subarray(0, 32),
  integrity: bytes.subarray(32, fileKeysBytes),
})
