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
  if (typeof did !== 'string' || typeof signature !== 'string') return false
  const key = keyOfDid(did)
  const blob = unarmour(signature)
  const parts = blob && readSignature(blob)
  if (key === undefined || parts === undefined) return false
  if (!parts.key.equals(key) || parts.namespace !== namespace) return false
  const signed = signedBytes(namespace, parts.hashName, message)
  return verifySignature(key.toString('base64'), signed, parts.signature.toString('base64'))
}

const begin = '-----BEGIN SSH SIGNATURE-----'
const end = '-----END SSH SIGNATURE-----'
const magic = Buffer.from('SSHSIG')
const version = Buffer.from([0, 0, 0, 1])
const keyType = 'ssh-ed25519'

function unarmour(text: string): Buffer | undefined {
  const lines = text.trimEnd().split('\n')
  if (lines[0] !== begin || lines.at(-1) !== end) return undefined
  const body = lines.slice(1, -1).join('')
  const blob = Buffer.from(body, 'base64')
  return blob.toString('base64') === body ? blob : undefined
}

type HashName = 'sha256' | 'sha512'

interface SshSignature {
  readonly key: Buffer
  readonly namespace: string
  readonly hashName: HashName
  readonly signature: Buffer
}

function readSignature(blob: Buffer): SshSignature | undefined {
  const start = Buffer.concat([magic, version])
  if (!blob.subarray(0, start.length).equals(start)) return undefined
  const fields = readFields(blob.subarray(start.length))
  if (fields?.length !== 5) return undefined
  const [key, namespace, reserved, hashName, signature] = fields
  const bare = { key: readKeyBlob(key), signature: readKeyBlob(signature), hashName: hashName?.toString() }
  if (bare.key === undefined || bare.signature === undefined || namespace === undefined) return undefined
  if (reserved?.length !== 0 || (bare.hashName !== 'sha256' && bare.hashName !== 'sha512')) return undefined
  return { key: bare.key, namespace: namespace.toString(), hashName: bare.hashName, signature: bare.signature }
}

function readKeyBlob(blob: Buffer | undefined): Buffer | undefined {
  const fields = blob && readFields(blob)
  return fields?.length === 2 && fields[0]?.toString() === keyType ? fields[1] : undefined
}

function signedBytes(namespace: string, hashName: HashName, message: string): Buffer {
  const digest = createHash(hashName).update(message).digest()
  const fields = [Buffer.from(namespace), Buffer.alloc(0), Buffer.from(hashName), digest]
  return Buffer.concat([magic, ...fields.map(field)])
}

/** Length-prefixed, as SSH writes them. */
function field(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** All fields up to the end, or undefined when they do not end where the bytes do. */
function readFields(bytes: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = []
  let at = 0
  while (at + 4 <= bytes.length) {
    const from = at + 4
    at = from + bytes.readUInt32BE(at)
    fields.push(bytes.subarray(from, at))
  }
  return at === bytes.length ? fields : undefined
}

const didPrefix = 'did:key:z'
const ed25519Prefix = Buffer.from([0xed, 0x01])
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** `did:key` of a raw base64 Ed25519 key. */
export function didOf(publicKey: string): string {
  let rest = BigInt(`0x${Buffer.concat([ed25519Prefix, Buffer.from(publicKey, 'base64')]).toString('hex')}`)
  let text = ''
  for (; rest > 0n; rest /= 58n) text = (base58[Number(rest % 58n)] ?? '') + text
  return didPrefix + text
}

/** The raw Ed25519 key a DID names. The prefix is never zero, so no leading digit is lost on the way. */
function keyOfDid(did: string): Buffer | undefined {
  if (!did.startsWith(didPrefix) || did.length > 64) return undefined
  let value = 0n
  for (const char of did.slice(didPrefix.length)) {
    const digit = base58.indexOf(char)
    if (digit < 0) return undefined
    value = value * 58n + BigInt(digit)
  }
  const key = Buffer.from(value.toString(16), 'hex').subarray(2)
  return key.length === 32 && didOf(key.toString('base64')) === did ? key : undefined
}
