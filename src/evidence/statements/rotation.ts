import { stable } from '../../base/canonical.ts'
import { keyIdOf, verifySignature } from '../../base/ed25519.ts'
import { parseTime } from '../../base/time.ts'
import { type KeyRotation, keyRotation } from '../../model/evidence.ts'

/** The rotation if it is one: well formed, both key ids computed from the keys, signed by the old key. */
export function readRotation(input: unknown): KeyRotation | undefined {
  const parsed = keyRotation.safeParse(input)
  if (!parsed.success) return undefined
  const { signature, ...header } = parsed.data
  if (header.old_key_id !== keyIdOf(header.old_public_key)) return undefined
  if (header.new_key_id !== keyIdOf(header.new_public_key)) return undefined
  return verifySignature(header.old_public_key, stable(header), signature) ? parsed.data : undefined
}

/** When a key was replaced by its own signed word, if before this time; who stole it cannot say so again, but later. */
export function replacedBefore(keyId: string, at: string, rotations: readonly unknown[] = []): string | undefined {
  const times = rotations.map(readRotation).flatMap((step) => (step?.old_key_id === keyId ? step.rotated_at : []))
  return times.find((time) => !(instantOf(at) <= instantOf(time)))
}

const instantOf = (time: string): number => parseTime(time) ?? Number.NEGATIVE_INFINITY

/** Every key the verifier may trust: its own pins, and what they have handed over to. Bad rotations lead nowhere. */
export const trustedKeys = (pins: readonly string[], rotations?: readonly unknown[]): ReadonlySet<string> =>
  followRotations(pins, rotations).trusted

interface Followed {
  readonly trusted: ReadonlySet<string>
  /** The id of a trusted key that named two successors. Who holds it is not to be known, so neither is followed. */
  readonly forkedAt: string | null
}

/** Walks from the pins along the rotations, in whatever order they come. */
export function followRotations(pins: readonly string[], rotations: readonly unknown[] = []): Followed {
  const steps = rotations.map(readRotation).filter((step) => step !== undefined)
  const successors = Map.groupBy(steps, (step) => step.old_public_key)
  const trusted = new Set(pins)
  let forkedAt: string | null = null
  // A set that grows while it is walked is walked to its new end.
  for (const key of trusted) {
    const [next, ...others] = successors.get(key) ?? []
    if (next === undefined) continue
    if (others.some((other) => other.new_public_key !== next.new_public_key)) forkedAt ??= next.old_key_id
    else trusted.add(next.new_public_key)
  }
  return { trusted, forkedAt }
}
