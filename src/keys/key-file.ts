import { keyIdOf } from '../base/ed25519.ts'
import { Failure, quote } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { type KeyRotation, keyRotation } from '../model/evidence.ts'
import { decrypt, encrypt, type Random } from './cipher.ts'
import { checkMac, Damage, fileBytes, fileMembers, kdfOf, listOf, type Members, membersOf, textOf } from './members.ts'
import { type FileKeys, type Kdf, type Passphrase, unlockedHelp } from './passphrase.ts'
import { signerOf } from './signer.ts'

/** All that is kept for one host, secrets included: never leaves this folder. */
export interface HostKeys {
  readonly hostId: string
  readonly createdAt: string
  readonly seed: Uint8Array
  readonly digestKey: Uint8Array
  readonly history: readonly KeyRotation[]
  readonly revoked: readonly string[]
}

/** What a file is locked with; undefined for one in plain text. */
export type FileLock = { readonly keys: FileKeys; readonly kdf: Kdf } | undefined

const version = 'ambit-key-v1'

/** Safe on every file system, those that ignore case too: two hosts never share a file. */
export function keyFileName(hostId: string): string {
  const bytes = Buffer.from(hostId).toString('latin1')
  const name = bytes.replace(/[^a-z0-9_-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return `${name.length <= 128 ? name : `%h${sha256(hostId)}`}.key.json`
}

export function encodeKeyFile(keys: HostKeys, lock: FileLock, random: Random): Buffer {
  const { keyId, publicKey } = signerOf(keys.seed)
  const hidden = (purpose: Purpose, value: Uint8Array): string =>
    lock === undefined
      ? Buffer.from(value).toString('base64')
      : encrypt(lock.keys.encryption, binds(keys.hostId, keyId, purpose), value, random)
  const members = {
    v: version,
    host_id: keys.hostId,
    kdf: lock === undefined ? null : { ...lock.kdf },
    current: { key_id: keyId, public_key: publicKey, created_at: keys.createdAt, private: hidden('sign', keys.seed) },
    digest_key: hidden('digest', keys.digestKey),
    history: keys.history,
    revoked: keys.revoked,
  }
  return fileBytes(members, keys.digestKey)
}

/** Fails with `key.locked` for a wrong or missing passphrase, and with `key.invalid` for a file that was changed. */
export async function decodeKeyFile(
  bytes: Buffer,
  hostId: string,
  passphrase: Passphrase | undefined,
): Promise<{ readonly keys: HostKeys; readonly lock: FileLock }> {
  try {
    const members = fileMembers(bytes, version, limits.jsonBytesMax)
    const lock = await unlock(members, hostId, passphrase)
    return { keys: hostKeys(members, hostId, lock), lock }
  } catch (error) {
    if (!(error instanceof Damage)) throw error
    throw new Failure(
      'key.invalid',
      `the key file of host ${quote(hostId)} is damaged`,
      { hostId },
      'restore it from a backup',
    )
  }
}

async function unlock(members: Members, hostId: string, passphrase: Passphrase | undefined): Promise<FileLock> {
  const kdf = kdfOf(members)
  if (kdf !== undefined) {
    if (passphrase === undefined)
      throw new Failure('key.locked', `the key of host ${quote(hostId)} needs its passphrase`)
    return { keys: await passphrase.unlock(kdf), kdf }
  }
  // Taken as it is, a file in plain text could be put in the place of a locked one.
  if (passphrase !== undefined) {
    throw new Failure(
      'key.invalid',
      `the key of host ${quote(hostId)} is not locked, but a passphrase is set`,
      {},
      unlockedHelp,
    )
  }
  return undefined
}

function hostKeys(members: Members, hostId: string, lock: FileLock): HostKeys {
  const current = membersOf(members['current'])
  const keyId = textOf(current, 'key_id')
  const shown = (purpose: Purpose, text: string): Buffer => {
    const value = lock
      ? decrypt(lock.keys.encryption, binds(hostId, keyId, purpose), text)
      : Buffer.from(text, 'base64')
    if (value?.length !== 32) throw new Damage()
    return value
  }
  const keys = {
    hostId,
    createdAt: textOf(current, 'created_at'),
    seed: shown('sign', textOf(current, 'private')),
    digestKey: shown('digest', textOf(members, 'digest_key')),
    history: listOf(members, 'history').map(rotationOf),
    revoked: listOf(members, 'revoked').map(String),
  }
  checkMac(members, keys.digestKey)
  const signer = signerOf(keys.seed)
  const fits = signer.keyId === keyId && signer.publicKey === current['public_key'] && members['host_id'] === hostId
  if (!fits || !joined(keys.history, keyId)) throw new Damage()
  return keys
}

function rotationOf(value: unknown): KeyRotation {
  const { data } = keyRotation.safeParse(value)
  if (data === undefined) throw new Damage()
  return data
}

/** Each statement goes on where the one before ended, the last at the current key; every key id is recomputed. */
function joined(history: readonly KeyRotation[], currentId: string): boolean {
  return history.every(
    (statement, index) =>
      keyIdOf(statement.old_public_key) === statement.old_key_id &&
      keyIdOf(statement.new_public_key) === statement.new_key_id &&
      statement.new_key_id === (history[index + 1]?.old_key_id ?? currentId),
  )
}

type Purpose = 'sign' | 'digest'

const binds = (hostId: string, keyId: string, purpose: Purpose): string[] => [version, hostId, keyId, purpose]
