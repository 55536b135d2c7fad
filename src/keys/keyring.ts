import assert from 'node:assert/strict'
import type { Signer } from '../base/ed25519.ts'
import { Failure, quote } from '../base/failure.ts'
import { digestUnder } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import type { FileRoot } from '../files/root.ts'
import type { HostIdentity, KeyRotation } from '../model/evidence.ts'
import { wireId } from '../model/wire/correlation.ts'
import { decodeKeyFile, encodeKeyFile, type HostKeys, keyFileName, type PublicKeys } from './key-file.ts'
import { type FileLock, type KeyFolder, type Passphrase, passphraseIn } from './passphrase.ts'
import { readPrivate } from './sealed-file.ts'
import { identityStatement, rotationStatement, signerOf } from './signer.ts'

export interface Signing {
  readonly signer: Signer
  readonly keys: PublicKeys
  /** Valid from the moment the key was made. */
  readonly identity: HostIdentity
}

/**
 * One signing key and one digest key per logical host. Private keys and digest keys stay inside. Each call reads the
 * file anew; it fails with `key.not_found`, `key.locked`, `key.permissions` (open to others) or `key.invalid` (damaged).
 */
export interface Keyring {
  /** Makes the keys of a host; fails with `key.exists`, also when another process was first. */
  create(hostId: string): Promise<PublicKeys>
  /** Signs with the key that is current now; after a rotation, ask again. */
  signer(hostId: string): Promise<Signer>
  publicKeys(hostId: string): Promise<PublicKeys>
  /** Signer, public keys and the host's signed claim to its key, all of one moment. */
  signing(hostId: string): Promise<Signing>
  /** Puts a new key in place of the current one, whose private half is discarded. Rotations at the same time follow each other. */
  rotate(hostId: string, options?: { readonly revokeOld?: boolean }): Promise<KeyRotation>
  /** Marks a key of the history, never the current one, as revoked. */
  revoke(hostId: string, keyId: string): Promise<PublicKeys>
  /** The keyed digest of the host's tenant. */
  digest(hostId: string): Promise<(parts: readonly string[]) => string>
}

export function openKeyring(deps: KeyFolder): Keyring {
  const passphrase = passphraseIn(deps)
  const current = async (hostId: string): Promise<HostKeys> => (await load(deps.files, hostId, passphrase)).keys
  const change = (hostId: string, next: (keys: HostKeys) => HostKeys): Promise<HostKeys> =>
    deps.files.exclusive(async () => {
      const { keys, lock } = await load(deps.files, hostId, passphrase)
      return save(next(keys), lock, deps, false)
    })
  return Object.freeze<Keyring>({
    create: async (hostId) =>
      publicKeys(await save(newKeys(checkedHost(hostId), deps), (await passphrase?.fresh()) ?? null, deps, true)),
    signer: async (hostId) => signerOf((await current(hostId)).seed),
    publicKeys: async (hostId) => publicKeys(await current(hostId)),
    signing: async (hostId) => {
      const keys = await current(hostId)
      const signer = signerOf(keys.seed)
      return { signer, keys: publicKeys(keys), identity: identityStatement(signer, hostId, keys.createdAt) }
    },
    rotate: async (hostId, { revokeOld = false } = {}) => {
      const next = (keys: HostKeys): HostKeys => {
        const made = rotated(keys, deps)
        return revokeOld ? revoked(made, signerOf(keys.seed).keyId) : made
      }
      const statement = (await change(hostId, next)).history.at(-1)
      assert(statement !== undefined)
      return statement
    },
    revoke: async (hostId, keyId) => publicKeys(await change(hostId, (keys) => revoked(keys, keyId))),
    digest: async (hostId) => digestUnder((await current(hostId)).digestKey),
  })
}

async function load(files: FileRoot, hostId: string, passphrase: Passphrase | undefined) {
  const bytes = await readPrivate(files, keyFileName(checkedHost(hostId)), limits.jsonBytesMax)
  if (bytes === undefined) throw new Failure('key.not_found', `host ${quote(hostId)} has no key`, { hostId })
  return decodeKeyFile(bytes, hostId, passphrase)
}

async function save(keys: HostKeys, lock: FileLock, deps: KeyFolder, exclusive: boolean): Promise<HostKeys> {
  try {
    await deps.files.write(keyFileName(keys.hostId), encodeKeyFile(keys, lock, deps.random), { mode: 0o600, exclusive })
    return keys
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'file.exists')) throw error
    throw new Failure('key.exists', `host ${quote(keys.hostId)} already has a key`, { hostId: keys.hostId })
  }
}

function newKeys(hostId: string, { clock, random }: KeyFolder): HostKeys {
  const createdAt = formatTime(clock.now())
  return { hostId, createdAt, seed: random(32), digestKey: random(32), history: [], revoked: [] }
}

function rotated(keys: HostKeys, { clock, random }: KeyFolder): HostKeys {
  const now = formatTime(clock.now())
  const seed = random(32)
  const statement = rotationStatement(signerOf(keys.seed), signerOf(seed), now)
  const history = [...keys.history, statement]
  if (history.some(({ old_key_id }) => old_key_id === statement.new_key_id)) {
    throw new Failure('key.exists', `host ${quote(keys.hostId)} had this key before: the random source repeats itself`)
  }
  return { ...keys, createdAt: now, seed, history }
}

function revoked(keys: HostKeys, keyId: string): HostKeys {
  if (!keys.history.some(({ old_key_id }) => old_key_id === keyId)) {
    const help = 'the current key cannot be revoked: rotate it first'
    throw new Failure('key.not_found', `${quote(keyId)} is no former key of host ${quote(keys.hostId)}`, {}, help)
  }
  return keys.revoked.includes(keyId) ? keys : { ...keys, revoked: [...keys.revoked, keyId] }
}

/** Every public key that the host has signed with, the present one first. */
export const everyKeyOf = ({ publicKey, history }: PublicKeys): string[] => [
  publicKey,
  ...history.map((step) => step.old_public_key),
]

function publicKeys({ hostId, seed, createdAt, history, revoked }: HostKeys): PublicKeys {
  const { keyId, publicKey } = signerOf(seed)
  return { hostId, keyId, publicKey, createdAt, history, revoked }
}

function checkedHost(hostId: string): string {
  if (wireId.safeParse(hostId).success && hostId.isWellFormed()) return hostId
  const help = 'use 1 to 256 characters, no control characters'
  throw new Failure('id.invalid', `host id ${quote(hostId)} is not valid`, {}, help)
}
