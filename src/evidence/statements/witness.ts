import { byCodePoint, stable } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { type ChainWitness, chainWitness, type StoreHeadAnchor, storeHeadAnchor } from '../../model/wire/statement.ts'
import { verifySshSignature } from './sshsig.ts'
import { headerOf, readShape, refused, signedMembers, statementProblem, type Verified } from './statement.ts'

const witnessMembers = signedMembers(chainWitness, 'witness')

/** Verifies a witness's statement. Whether the head is the store's is for the caller to recompute. */
export function verifyWitness(input: unknown): Verified<ChainWitness> {
  const read = readShape(chainWitness, input)
  if (!read.ok) return read
  const { witness, witnessed_at } = read.value
  return statementProblem(read.value, witnessMembers, witness, witnessed_at) ?? read
}

const anchorMembers = ['kind', 'host_id', 'sequence', 'store_head', 'anchored_at'] as const
const anchorNamespace = 'chp-store-head-anchor'

/** Verifies an anchor's SSH signature. The scheme it names is not signed: the head itself decides. */
export function verifyAnchor(input: unknown): Verified<StoreHeadAnchor> {
  const read = readShape(storeHeadAnchor, input)
  if (!read.ok) return read
  const { did, countersignature } = read.value.anchor
  const message = stable(headerOf(read.value, anchorMembers))
  const good = verifySshSignature({ did, signature: countersignature, namespace: anchorNamespace, message })
  return good ? read : refused('signature', 'the SSH signature does not verify')
}

/** The last content hash of every correlation of a store; null where it was cleared. */
export type Tails = Iterable<readonly [correlationId: string, contentHash: string | null]>

/** `chp-store-head-v1`: one digest over all of them. */
export function storeHead(tails: Tails): string {
  const sorted = [...tails].sort(([a], [b]) => byCodePoint(a, b))
  return sha256(sorted.map(([id, hash]) => `${id}\0${hash ?? ''}\n`).join(''))
}

export interface Revoked {
  readonly mandates: Iterable<{ readonly mandateId: string; readonly principalKey: string }>
  readonly keyIds: Iterable<string>
}

/** One digest over all that a host knows to be revoked. */
export function revocationHead({ mandates, keyIds }: Revoked): string {
  const mandateLines = [...mandates].map(({ mandateId, principalKey }) => `m\0${mandateId}\0${principalKey}\n`)
  const keyLines = [...keyIds].map((keyId) => `k\0${keyId}\n`)
  return sha256([...mandateLines, ...keyLines].sort(byCodePoint).join(''))
}
