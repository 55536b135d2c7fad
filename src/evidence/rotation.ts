import { stable } from '../base/canonical.ts'
import { keyIdOf, type Signer, verifySignature } from '../base/ed25519.ts'
import { type KeyRotation, keyRotation } from '../model/evidence.ts'

/** The old key hands over to a new one. */
export function rotate(newKey: Pick<Signer, 'keyId' | 'publicKey'>, rotatedAt: string, oldKey: Signer): KeyRotation {
  const header = {
    old_key_id: oldKey.keyId,
    old_public_key: oldKey.publicKey,
    new_key_id: newKey.keyId,
    new_public_key: newKey.publicKey,
    rotated_at: rotatedAt,
  }
  return { ...header, signature: oldKey.sign(stable(header)) }
}

/** The rotation if it is one: well formed, both key ids computed from the keys, signed by the old key. */
export function readRotation(input: unknown): KeyRotation | undefined {
  const parsed = keyRotation.safeParse(input)
  if (!parsed.success) return undefined
  const { signature, ...header } = parsed.data
  if (header.old_key_id !== keyIdOf(header.old_public_key)) return undefined
  if (header.new_key_id !== keyIdOf(header.new_public_key)) return undefined
  return verifySignature(header.old_public_key, stable(header), signature) ? parsed.data : undefined
}

/** Every key the verifier may trust: its own pins, and what they have handed over to. Bad rotations lead nowhere. */
export function trustedKeys(pins: readonly string[], rotations: readonly unknown[] = []): ReadonlySet<string> {
  const steps = rotations.map(readRotation).filter((step) => step !== undefined)
  const trusted = new Set(pins)
  for (let known = -1; known < trusted.size; ) {
    known = trusted.size
    for (const step of steps) if (trusted.has(step.old_public_key)) trusted.add(step.new_public_key)
  }
  return trusted
}
