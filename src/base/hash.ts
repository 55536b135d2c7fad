import { hash } from 'node:crypto'
import { hashable, type Json } from './canonical.ts'

/** Lower-case hex SHA-256 of bytes, or of text as UTF-8. */
export const sha256 = (data: string | Uint8Array): string => hash('sha256', data, 'hex')

/** The hash of an object: `sha256:` and the hex digest of its RFC 8785 form, with money as whole millionths of a cent. */
export const objectHash = (value: Json): string => `sha256:${sha256(hashable(value))}`

const blockBytes = 64

/**
 * Digests that no reader without the key can test guesses against: `hmac-sha256:` and hex, for keys of at most one block.
 * With the two pads of HMAC (RFC 2104) made once, a digest costs a fraction of a new keyed hash.
 */
export function digestUnder(key: Uint8Array): (parts: readonly string[]) => string {
  if (key.byteLength > blockBytes) throw new Error('the key is longer than a block')
  const padded = (byte: number): Buffer => {
    const pad = Buffer.alloc(blockBytes, byte)
    for (const [index, part] of key.entries()) pad[index] = byte ^ part
    return pad
  }
  const inner = Buffer.concat([padded(0x36)], blockBytes + shortBytesMax)
  const outer = Buffer.concat([padded(0x5c)], blockBytes + 32)
  return (parts) => {
    const message = parts.join('\0')
    // The room behind the pad is used again and again; only a long message gets room of its own.
    const room = message.length * 3 <= shortBytesMax ? inner : Buffer.concat([inner], blockBytes + message.length * 3)
    const end = blockBytes + room.write(message, blockBytes)
    outer.write(hash('sha256', room.subarray(0, end), 'binary'), blockBytes, 'binary')
    return `hmac-sha256:${hash('sha256', outer, 'hex')}`
  }
}

const shortBytesMax = 4096
