import { canonical } from '../base/canonical.ts'
import { keyIdOf, type Signer, verifySignature } from '../base/ed25519.ts'
import { sha256 } from '../base/hash.ts'
import { type Checkpoint, checkpoint } from '../model/evidence.ts'
import { readShape, refused, type Verified } from './statements/statement.ts'

/** A signed head of the log, tied to the checkpoint before it. */
export function signCheckpoint(
  fields: Omit<Checkpoint, 'kind' | 'prev' | 'signature'>,
  prev: Checkpoint | null,
  signer: Signer,
): Checkpoint {
  const header = { ...fields, kind: 'ambit-head', prev: prev && checkpointHash(prev) } as const
  const signature = signer.sign(canonical(header))
  return { ...header, signature: { algorithm: 'ed25519', key_id: signer.keyId, signature } }
}

/** What the next checkpoint names as `prev`. */
export const checkpointHash = (head: Checkpoint): string => sha256(canonical(head))

/** Verifies a checkpoint under one of these whole public keys. */
export function verifyCheckpoint(input: unknown, keys: Iterable<string>): Verified<Checkpoint> {
  const read = readShape(checkpoint, input)
  if (!read.ok) return read
  const { signature, ...header } = read.value
  const key = [...keys].find((candidate) => keyIdOf(candidate) === signature.key_id)
  if (key === undefined) return refused('key id', 'the checkpoint is signed by an unknown key')
  if (verifySignature(key, canonical(header), signature.signature)) return read
  return refused('signature', "the checkpoint's signature does not verify")
}

/** Verifies a file of checkpoints of one host: each good by itself, tied to the one before, and never going back. */
export function verifyCheckpoints(inputs: readonly unknown[], keys: Iterable<string>): Verified<readonly Checkpoint[]> {
  const known = [...keys]
  const heads: Checkpoint[] = []
  for (const input of inputs) {
    const verified = verifyCheckpoint(input, known)
    if (!verified.ok) return verified
    const { value: head } = verified
    const prev = heads.at(-1)
    if (head.prev !== (prev ? checkpointHash(prev) : null))
      return refused('prev', 'a checkpoint does not follow the one before')
    if (prev && head.host_id !== prev.host_id) return refused('host', 'a checkpoint is of another host')
    if (prev && (head.log_size < prev.log_size || head.sequence < prev.sequence))
      return refused('size', 'a checkpoint is smaller than the one before')
    heads.push(head)
  }
  return { ok: true, value: heads }
}
