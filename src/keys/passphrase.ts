import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { Failure } from '../base/failure.ts'
import type { Random } from './cipher.ts'

/** How the keys of a file follow from its passphrase, as written in the file. `check` tells a wrong passphrase from damage. */
export interface Kdf {
  readonly name: typeof kdfName
  readonly salt: string
  readonly check: string
}

/** Keys of one file: one to encrypt with, one to protect the whole file from changes. */
export interface FileKeys {
  readonly encryption: Buffer
  readonly integrity: Buffer
}

export interface Passphrase {
  /** Keys for a new file. */
  fresh(): Promise<{ readonly keys: FileKeys; readonly kdf: Kdf }>
  /** The keys of a file; a wrong passphrase fails with `key.locked`. */
  unlock(kdf: Kdf): Promise<FileKeys>
}

export const kdfName = 'scrypt-32768-8-3'
const cost = { N: 32768, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }
const checkBytes = 16

/** Deriving takes a fifth of a second by design, so the keys of each salt are cached. */
export function passphraseOf(text: string, random: Random): Passphrase {
  if (text === '')
    throw new Failure('key.invalid', 'the passphrase is empty', {}, 'set one, or leave it out altogether')
  const derived = new Map<string, Promise<Derived>>()
  const derive = (salt: string): Promise<Derived> => {
    const known = derived.get(salt) ?? deriveFrom(text, salt)
    derived.set(salt, known)
    return known
  }
  return {
    fresh: async () => {
      const salt = Buffer.from(random(16)).toString('base64')
      const { keys, check } = await derive(salt)
      return { keys, kdf: { name: kdfName, salt, check } }
    },
    unlock: async ({ salt, check }) => {
      const found = await derive(salt)
      if (found.check !== check)
        throw new Failure('key.locked', 'the passphrase is not the one this file was locked with')
      return found.keys
    },
  }
}

interface Derived {
  readonly keys: FileKeys
  readonly check: string
}

const scryptAsync = promisify<string, Buffer, number, typeof cost, Buffer>(scrypt)

// One passphrase can be typed as different code points on different keyboards; NFC makes them the same.
async function deriveFrom(text: string, salt: string): Promise<Derived> {
  const bytes = await scryptAsync(text.normalize('NFC'), Buffer.from(salt, 'base64'), fileKeysBytes + checkBytes, cost)
  return { keys: fileKeys(bytes), check: bytes.subarray(fileKeysBytes).toString('base64') }
}

export const fileKeysBytes = 64

/** The two keys, from the first 64 bytes. */
export const fileKeys = (bytes: Buffer): FileKeys => ({
  encryption: bytes.subarray(0, 32),
  integrity: bytes.subarray(32, fileKeysBytes),
})
