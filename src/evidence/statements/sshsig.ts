import { createHash } from 'node:crypto'
import { verifySignature } from '../../base/ed25519.ts'

// SSH signatures (`ssh-keygen -Y sign`) by Ed25519 keys named as `did:key`.

export interface SshClaim {
  readonly did: unknown
  readonly signature: unknown
  readonly namespace: string
  readonly message: string
}

/** True only for an armoured SSH signature over the message, in this namespace, by exactly the key the DID names. */
export function verifySshSignature({ did, signature, namespace, message }: SshClaim): boolean {
  const blob = typeof signature === 'string' ? unarmour(signature) : undefined
  if (blob === undefined) return false
  const key = blob.subarray(keyStart, keyStart + keyBytes)
  const raw = blob.subarray(-signatureBytes)
  // Key and signature are all that is not known before: whatever else differs from what we would write is refused.
  const hashName = ['sha256', 'sha512'].find((name) => blob.equals(writeBlob(key, namespace, name, raw)))
  if (hashName === undefined || didOf(key.toString('base64')) !== did) return false
  const digest = createHash(hashName).update(message).digest()
  const signed = Buffer.concat([magic, ...[namespace, '', hashName, digest].map(field)])
  return verifySignature(key.toString('base64'), signed, raw.toString('base64'))
}

const magic = Buffer.from('SSHSIG')
const start = Buffer.concat([magic, Buffer.from([0, 0, 0, 1])])
const keyType = 'ssh-ed25519'
// Behind the lengths of the key's field, of the type in it, and of the key itself.
const keyStart = start.length + 4 + 4 + keyType.length + 4
const keyBytes = 32
const signatureBytes = 64

function unarmour(text: string): Buffer | undefined {
  const lines = text.trimEnd().split('\n')
  if (lines[0] !== '-----BEGIN SSH SIGNATURE-----' || lines.at(-1) !== '-----END SSH SIGNATURE-----') return undefined
  const body = lines.slice(1, -1).join('')
  const blob = Buffer.from(body, 'base64')
  return blob.toString('base64') === body ? blob : undefined
}

function writeBlob(key: Buffer, namespace: string, hashName: string, signature: Buffer): Buffer {
  const typed = (bytes: Buffer): Buffer => Buffer.concat([field(keyType), field(bytes)])
  return Buffer.concat([start, ...[typed(key), namespace, '', hashName, typed(signature)].map(field)])
}

/** Length-prefixed, as SSH writes it. */
function field(data: string | Buffer): Buffer {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

const ed25519Prefix = Buffer.from([0xed, 0x01])
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** `did:key` of a raw base64 Ed25519 key. The prefix is never zero, so no leading digit is lost. */
export function didOf(publicKey: string): string {
  let rest = BigInt(`0x${Buffer.concat([ed25519Prefix, Buffer.from(publicKey, 'base64')]).toString('hex')}`)
  let text = ''
  for (; rest > 0n; rest /= 58n) text = (base58[Number(rest % 58n)] ?? '') + text
  return `did:key:z${text}`
}
