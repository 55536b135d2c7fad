import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { stable } from '../base/canonical.ts'
import type { Signer } from '../base/ed25519.ts'
import { sha256 } from '../base/hash.ts'
import type { HostIdentity, KeyRotation } from '../model/evidence.ts'

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

/** The old key names the new one, so that a verifier who pinned the old key can follow. */
export function rotationStatement(old: Signer, next: Signer, rotatedAt: string): KeyRotation {
  const claim = {
    old_key_id: old.keyId,
    old_public_key: old.publicKey,
    new_key_id: next.keyId,
    new_public_key: next.publicKey,
    rotated_at: rotatedAt,
  }
  return { ...claim, signature: old.sign(stable(claim)) }
}

/** A host's own claim to its key, valid from a time on, signed with that key. */
export function identityStatement(signer: Signer, hostId: string, validFrom: string): HostIdentity {
  const { publicKey: public_key, keyId: key_id } = signer
  const claim = { host_id: hostId, public_key, key_id, valid_from: validFrom, valid_until: null }
  return { ...claim, signature: signer.sign(stable(claim)) }
}
