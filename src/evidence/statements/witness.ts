import { stable } from '../../base/canonical.ts'
import type { Signer } from '../../base/ed25519.ts'
import {
  type ChainWitness,
  chainWitness,
  type MonitorReport,
  monitorReport,
  type StoreHeadAnchor,
  storeHeadAnchor,
} from '../../model/wire/statement.ts'
import { refused, type Verified } from '../verify/verified.ts'
import { didOf, sshSign, verifySshSignature } from './sshsig.ts'
import {
  headerOf,
  partyOf,
  readShape,
  type Signatory,
  signedMembers,
  signHeader,
  statementProblem,
} from './statement.ts'

/** The head of a store at one count of its events. */
export type Head = Pick<ChainWitness, 'host_id' | 'sequence' | 'store_head' | 'revocation_head'>

const witnessMembers = signedMembers(chainWitness, 'witness')

/** A host says that it has seen this head of another. */
export function signWitness(head: Head, witnessedAt: string, witness: Signatory): ChainWitness {
  const header = {
    ...head,
    kind: 'chain-witness',
    witnessed_at: witnessedAt,
    canonicalization: 'chp-stable-v1',
  } as const
  const signature = signHeader(headerOf(header, witnessMembers), witness.signer)
  return { ...header, witness: partyOf(witness), signature }
}

/** Verifies a witness's statement. Whether the head is the store's is for the caller to recompute. */
export function verifyWitness(input: unknown): Verified<ChainWitness> {
  const read = readShape(chainWitness, input)
  if (!read.ok) return read
  const { witness, witnessed_at } = read.value
  return statementProblem(read.value, witnessMembers, witness, witnessed_at) ?? read
}

/** How many distinct keys have witnessed exactly this head; a statement that does not verify counts for nothing. */
export function countWitnesses(statements: readonly unknown[], head: Head): number {
  const keys = statements
    .map(verifyWitness)
    .filter((verified) => verified.ok)
    .filter(({ value }) => headMembers.every((member) => value[member] === head[member]))
    .map(({ value }) => value.witness.public_key)
  return new Set(keys).size
}

const headMembers = ['host_id', 'sequence', 'store_head', 'revocation_head'] as const

const anchorMembers = ['kind', 'host_id', 'sequence', 'store_head', 'anchored_at'] as const
const anchorNamespace = 'chp-store-head-anchor'

/** A key outside the host countersigns its head. */
export function signAnchor(
  head: Pick<StoreHeadAnchor, 'host_id' | 'sequence' | 'store_head' | 'store_head_scheme'>,
  anchoredAt: string,
  signer: Signer,
): StoreHeadAnchor {
  const header = { ...head, kind: 'store-head-anchor', anchored_at: anchoredAt } as const
  const countersignature = sshSign(signer, anchorNamespace, stable(headerOf(header, anchorMembers)))
  return { ...header, anchor: { type: 'did', did: didOf(signer.publicKey), countersignature } }
}

/** Verifies an anchor's SSH signature. The scheme it names is not signed: the head itself decides. */
export function verifyAnchor(input: unknown): Verified<StoreHeadAnchor> {
  const read = readShape(storeHeadAnchor, input)
  if (!read.ok) return read
  const { did, countersignature } = read.value.anchor
  const message = stable(headerOf(read.value, anchorMembers))
  const good = verifySshSignature({ did, signature: countersignature, namespace: anchorNamespace, message })
  return good ? read : refused('signature', 'the SSH signature does not verify')
}

const reportMembers = signedMembers(monitorReport, 'monitor')

/** Verifies a monitor's report. A good report may hold bad news: read its `verdict`. */
export function verifyMonitorReport(input: unknown): Verified<MonitorReport> {
  const read = readShape(monitorReport, input)
  if (!read.ok) return read
  const { monitor, monitored_at, verdict, divergence } = read.value
  if ((verdict === 'forked') !== (divergence !== undefined)) {
    return refused('shape', 'a report has a divergence exactly when it is forked')
  }
  return statementProblem(read.value, reportMembers, monitor, monitored_at) ?? read
}
