import { createCipheriv, createDecipheriv } from 'node:crypto'
import { canonical } from '../base/canonical.ts'

/** Where unpredictable bytes come from: this many new ones at each call. */
export type Random = (bytes: number) => Uint8Array

const ivBytes = 12
const tagBytes = 16

/**
 * AES-256-GCM over the value, as base64 of nonce, tag and ciphertext. Anywhere else than in the place that `binds` names it
 * does not decrypt. A list in canonical form, unlike joined text, cannot be read as another list.
 */
export function encrypt(key: Uint8Array, binds: readonly string[], value: Uint8Array, random: Random): string {
  const iv = random(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(canonical(binds)))
  const body = Buffer.concat([cipher.update(value), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64')
}

/** The value, or undefined when key, place or text are not the ones it was encrypted with. */
export function decrypt(key: Uint8Array, binds: readonly string[], text: string): Buffer | undefined {
  const raw = Buffer.from(text, 'base64')
  if (raw.length < ivBytes + tagBytes) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, raw.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(canonical(binds)))
  decipher.setAuthTag(raw.subarray(ivBytes, ivBytes + tagBytes))
  try {
    return Buffer.concat([decipher.update(raw.subarray(ivBytes + tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}
