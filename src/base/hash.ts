import { createHmac, hash } from 'node:crypto'
import { canonical, type Json } from './canonical.ts'

/** Lower-case hex SHA-256 of bytes, or of text as UTF-8. */
export const sha256 = (data: string | Uint8Array): string => hash('sha256', data, 'hex')

/** The hash of an object: `sha256:` and the hex digest of its RFC 8785 form. */
export const objectHash = (value: Json): string => `sha256:${sha256(canonical(value))}`

/** A digest that no reader without the key can test guesses against: `hmac-sha256:` and hex. */
export const keyedDigest = (key: Uint8Array, parts: readonly string[]): string =>
  `hmac-sha256:${createHmac('sha256', key).update(parts.join('\0')).digest('hex')}`
