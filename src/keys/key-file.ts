import { keyIdOf } from '../base/ed25519.ts'
import { Failure, quote } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { type KeyRotation, keyRotation } from '../model/evidence.ts'
import { decrypt, encrypt, type Random } from './cipher.ts'
import type { Passphrase } from './passphrase.ts'
import {
  checkMac,
  Damage,
  type FileLock,
  fileBytes,
  fileMembers,
  listOf,
  type Members,
  membersOf,
  textOf,
  unlockFile,
} from './sealed-file.ts'
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

const version = 'ambit-key-v1'

/** Safe on every file system, those that ignore case too: two hosts never share a file. */
export function keyFileName(hostId: string): string {
  const bytes = Buffer.from(hostId).toString('latin1')
  const name = bytes.replace(/[^a-z0-9_-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return `${name.length <= 128 ? name : `%h${sha256(hostId)}`}.key.json`
}

export function encodeKeyFile(keys: HostKeys, lock: FileLock, random: Random): Buffer {
  const { keyId, publicKey } = signerOf(keys.seed)
  const encode = (purpose: Purpose, value: Uint8Array): string =>
    lock === undefined
      ? Buffer.from(value).toString('base64')
      : encrypt(lock.keys.encryption, binds(keys.hostId, keyId, purpose), value, random)
  const members = {
    v: version,
    host_id: keys.hostId,
    kdf: lock === undefined ? null : { ...lock.kdf },
    current: { key_id: keyId, public_key: publicKey, created_at: keys.createdAt, private: encode('sign', keys.seed) },
    digest_key: encode('digest', keys.digestKey),
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
    const lock = await unlockFile(members, passphrase, `the key of host ${quote(hostId)}`)
    return { keys: hostKeys(members, hostId, lock), lock }
  } catch (error) {
    if (!(error instanceof Damage)) throw error
    const message = `the key file of host ${quote(hostId)} is damaged`
    throw new Failure('key.invalid', message, { hostId }, 'restore it from a backup')
  }
}

function hostKeys(members: Members, hostId: string, lock: FileLock): HostKeys {
  const current = membersOf(members['current'])
  const keyId = textOf(current, 'key_id')
  const decode = (purpose: Purpose, text: string): Buffer => {
    const value = lock
      ? decrypt(lock.keys.encryption, binds(hostId, keyId, purpose), text)
      : Buffer.from(text, 'base64')
    if (value?.length !== 32) throw new Damage()
    return value
  }
  const keys = {
    hostId,
    createdAt: textOf(current, 'created_at'),
    seed: decode('sign', textOf(current, 'private')),
    digestKey: decode('digest', textOf(members, 'digest_key')),
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
