import { byCodePoint, stable } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import type { MandateRevocation } from '../../model/wire/mandate.ts'
import { type ChainWitness, chainWitness, type StoreHeadAnchor, storeHeadAnchor } from '../../model/wire/statement.ts'
import { verifySshSignature } from './sshsig.ts'
import { readShape, refused, statementProblem, type Verified } from './statement.ts'

/** Verifies a witness's statement. Whether the head is the store's is for the caller to recompute. */
export function verifyWitness(input: unknown): Verified<ChainWitness> {
  const read = readShape(chainWitness, input)
  if (!read.ok) return read
  const { witness, ...statement } = read.value
  return statementProblem(statement, witness, statement.witnessed_at) ?? read
}

/** Verifies an anchor's SSH signature. The scheme it names is not signed: the head itself decides. */
export function verifyAnchor(input: unknown): Verified<StoreHeadAnchor> {
  const read = readShape(storeHeadAnchor, input)
  if (!read.ok) return read
  const { anchor, store_head_scheme: _, ...header } = read.value
  const { did, countersignature: signature } = anchor
  const good = verifySshSignature({ did, signature, namespace: 'chp-store-head-anchor', message: stable(header) })
  return good ? read : refused('signature', 'the SSH signature does not verify')
}

/** `chp-store-head-v1`: one digest over the last content hash of every correlation; null where it was cleared. */
export function storeHead(tails: Iterable<readonly [correlationId: string, contentHash: string | null]>): string {
  const sorted = [...tails].sort(([a], [b]) => byCodePoint(a, b))
  return sha256(sorted.map(([id, hash]) => `${id}\0${hash ?? ''}\n`).join(''))
}

/** One digest over all that a host knows to be revoked: mandates, and keys of its own. */
export function revocationHead(
  mandates: readonly Pick<MandateRevocation, 'mandate_id' | 'principal'>[],
  keyIds: readonly string[],
): string {
  const mandateLines = mandates.map(({ mandate_id, principal }) => `m\0${mandate_id}\0${principal.public_key}\n`)
  const keyLines = keyIds.map((keyId) => `k\0${keyId}\n`)
  return sha256([...mandateLines, ...keyLines].sort(byCodePoint).join(''))
}
