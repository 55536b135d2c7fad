import { stable } from '../../base/canonical.ts'
import { type ChainWitness, chainWitness, type StoreHeadAnchor, storeHeadAnchor } from '../../model/wire/statement.ts'
import { refused, type Verified } from '../verify/verified.ts'
import { verifySshSignature } from './sshsig.ts'
import { headerOf, readShape, signedMembers, statementProblem } from './statement.ts'

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
