import { keyIdOf } from '../base/ed25519.ts'
import { Failure, quote } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import type { KeyRotation } from '../model/evidence.ts'
import { type KeyFile, keyFile } from '../model/sealed.ts'
import { decrypt, encrypt, type Random } from './cipher.ts'
import type { FileLock, Passphrase } from './passphrase.ts'
import { fileBytes, openFile } from './sealed-file.ts'
import { signerOf } from './signer.ts'

/** What may be known of a host's keys. */
export interface PublicKeys {
  readonly hostId: string
  readonly keyId: string
  readonly publicKey: string
  readonly createdAt: string
  /** From the first key to the current one, each step signed by the key that was left. */
  readonly history: readonly KeyRotation[]
  /** Ids of keys of the history that are no longer to be believed. */
  readonly revoked: readonly string[]
}

/** All that is kept for one host, secrets included: never leaves this folder. */
export interface HostKeys extends Omit<PublicKeys, 'keyId' | 'publicKey'> {
  readonly seed: Uint8Array
  readonly digestKey: Uint8Array
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
    lock === null
      ? Buffer.from(value).toString('base64')
      : encrypt(lock.keys.encryption, binds(keys.hostId, keyId, purpose), value, random)
  const file: KeyFile = {
    v: version,
    host_id: keys.hostId,
    kdf: lock?.kdf ?? null,
    current: { key_id: keyId, public_key: publicKey, created_at: keys.createdAt, private: encode('sign', keys.seed) },
    digest_key: encode('digest', keys.digestKey),
    history: [...keys.history],
    revoked: [...keys.revoked],
  }
  return fileBytes(file, keys.digestKey)
}

/** Fails with `key.locked` for a wrong or missing passphrase, and with `key.invalid` for a file that was changed. */
export async function decodeKeyFile(
  bytes: Buffer,
  hostId: string,
  passphrase: Passphrase | undefined,
): Promise<{ readonly keys: HostKeys; readonly lock: FileLock }> {
  const host = `host ${quote(hostId)}`
  const damaged = (): Failure =>
    new Failure('key.invalid', `the key file of ${host} is damaged`, { hostId }, 'restore it from a backup')
  const form = { schema: keyFile, bytesMax: limits.jsonBytesMax, subject: `the key of ${host}`, damaged }
  const { file, lock, checkMac } = await openFile(bytes, form, passphrase)
  const { current, history, revoked } = file
  const decode = (purpose: Purpose, text: string): Buffer => {
    const place = binds(hostId, current.key_id, purpose)
    const value = lock === null ? Buffer.from(text, 'base64') : decrypt(lock.keys.encryption, place, text)
    if (value?.length !== 32) throw damaged()
    return value
  }
  const seed = decode('sign', current.private)
  const digestKey = decode('digest', file.digest_key)
  checkMac(digestKey)
  const { keyId, publicKey } = signerOf(seed)
  const fits = keyId === current.key_id && publicKey === current.public_key && file.host_id === hostId
  if (!fits || !joined(history, keyId)) throw damaged()
  return { keys: { hostId, createdAt: current.created_at, seed, digestKey, history, revoked }, lock }
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
