import { stable } from '../base/canonical.ts'
import type { Signer } from '../base/ed25519.ts'
import type { HostIdentity, KeyRotation } from '../model/evidence.ts'

/** The old key names the new one: whoever pinned the old key can follow. */
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

/** A host's own claim to its key, from a time on, signed with it. */
export function identityStatement(signer: Signer, hostId: string, validFrom: string): HostIdentity {
  const claim = {
    host_id: hostId,
    public_key: signer.publicKey,
    key_id: signer.keyId,
    valid_from: validFrom,
    valid_until: null,
  }
  return { ...claim, signature: signer.sign(stable(claim)) }
}
