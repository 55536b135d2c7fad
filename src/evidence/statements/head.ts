import { byCodePoint } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { type HeadConsistency, type HeadInclusion, headConsistency, headInclusion } from '../../model/wire/statement.ts'
import { grew, includes, inclusionProof, leafHash, merkleRoot } from '../merkle.ts'
import { refused, type Verified } from '../verify/verified.ts'
import { readShape } from './statement.ts'
import { verifyAnchor } from './witness.ts'

/** The last content hash of every correlation of a store; null where it was cleared. */
export type Tails = Iterable<readonly [correlationId: string, contentHash: string | null]>

/** `chp-store-head-v1`: one digest over all of them. */
export const storeHead = (tails: Tails): string => sha256(lines(tails).join(''))

/** `chp-store-head-v2`: a Merkle root over the same lines. */
export const storeHeadV2 = (tails: Tails): string => merkleRoot(lines(tails).map(leafHash))

function lines(tails: Tails): string[] {
  const sorted = [...tails].sort(([a], [b]) => byCodePoint(a, b))
  return sorted.map(([id, hash]) => lineOf(id, hash))
}

const lineOf = (id: string, hash: string | null): string => `${id}\0${hash ?? ''}\n`

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

/** The proof that one correlation stands under the v2 head of these tails. */
export function proveInclusion(tails: Tails, correlationId: string): HeadInclusion | undefined {
  const sorted = [...tails].sort(([a], [b]) => byCodePoint(a, b))
  const index = sorted.findIndex(([id]) => id === correlationId)
  const hash = sorted[index]?.[1]
  if (hash === undefined || hash === null) return undefined
  return {
    scheme: 'chp-store-head-v2',
    correlation_id: correlationId,
    head_hash: hash,
    leaf_index: index,
    tree_size: sorted.length,
    audit_path: inclusionProof(
      sorted.map(([id, tail]) => leafHash(lineOf(id, tail))),
      index,
    ),
  }
}

/** Verifies that a correlation's last hash stands under an anchored head, without the other correlations. */
export function verifyHeadInclusion(anchorInput: unknown, proofInput: unknown): Verified<HeadInclusion> {
  const anchor = verifyAnchor(anchorInput)
  if (!anchor.ok) return anchor
  const proof = readShape(headInclusion, proofInput)
  if (!proof.ok) return proof
  const { correlation_id, head_hash, leaf_index, tree_size, audit_path, scheme } = proof.value
  if (anchor.value.store_head_scheme !== scheme) return refused('scheme', 'the anchored head has another scheme')
  const leaf = leafHash(lineOf(correlation_id, head_hash))
  const good = includes(anchor.value.store_head, { leaf, index: leaf_index, size: tree_size, path: audit_path })
  return good ? proof : refused('proof', 'the path does not lead to the anchored head')
}

/** Verifies that between two anchored heads of one host correlations were only added. */
export function verifyHeadConsistency(first: unknown, second: unknown, proofInput: unknown): Verified<HeadConsistency> {
  const earlier = verifyAnchor(first)
  if (!earlier.ok) return earlier
  const later = verifyAnchor(second)
  if (!later.ok) return later
  const proof = readShape(headConsistency, proofInput)
  if (!proof.ok) return proof
  const { first_root, first_size, second_root, second_size } = proof.value
  if (earlier.value.host_id !== later.value.host_id) return refused('host', 'the two heads are of different hosts')
  if (earlier.value.sequence > later.value.sequence) return refused('sequence', 'the second head is the older one')
  if (earlier.value.store_head !== first_root || later.value.store_head !== second_root) {
    return refused('root', 'the proof is about other heads')
  }
  const good = grew({
    firstSize: first_size,
    firstRoot: first_root,
    secondSize: second_size,
    secondRoot: second_root,
    proof: proof.value.proof,
  })
  return good ? proof : refused('proof', 'the second head does not continue the first')
}
