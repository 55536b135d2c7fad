import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import type { Signer } from '../base/ed25519.ts'
import { sha256 } from '../base/hash.ts'

const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The signer of a 32-byte Ed25519 seed. The private half lives in the closure and nowhere else. */
export function signerOf(seed: Uint8Array): Signer {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })
  const raw = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)
  return Object.freeze<Signer>({
    keyId: sha256(raw).slice(0, 16),
    publicKey: raw.toString('base64'),
    sign: (data) => sign(null, typeof data === 'string' ? Buffer.from(data) : data, key).toString('base64'),
  })
}
