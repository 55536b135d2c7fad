import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { sha256 } from './hash.ts'

/** Signs with one Ed25519 key. What holds the private half never shows it. */
export interface Signer {
  /** First 16 hex digits of SHA-256 over the raw public key: computed, never chosen. */
  readonly keyId: string
  /** The raw 32-byte public key in base64. */
  readonly publicKey: string
  /** The signature over these bytes (text as UTF-8), in base64. */
  sign(data: string | Uint8Array): string
}

/** True only for a good signature by exactly this raw base64 key; malformed input is false, never an exception. */
export function verifySignature(publicKey: string, data: string | Uint8Array, signature: string): boolean {
  const key = importKey(publicKey)
  const bytes = readBase64(signature, 64)
  if (key === undefined || bytes === undefined) return false
  return verify(null, typeof data === 'string' ? Buffer.from(data) : data, key, bytes)
}

/** The id of a raw base64 public key, or undefined when it is not one. */
export function keyIdOf(publicKey: string): string | undefined {
  const raw = readBase64(publicKey, 32)
  return raw && sha256(raw).slice(0, 16)
}

const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')

function importKey(publicKey: string): KeyObject | undefined {
  const raw = readBase64(publicKey, 32)
  if (raw === undefined) return undefined
  return createPublicKey({ key: Buffer.concat([spkiPrefix, raw]), format: 'der', type: 'spki' })
}

/** Strict: standard alphabet, padding present, no stray bits, exactly this many bytes. */
function readBase64(text: string, bytes: number): Buffer | undefined {
  const raw = Buffer.from(text, 'base64')
  return raw.length === bytes && raw.toString('base64') === text ? raw : undefined
}
