import { parseTime } from '../../base/time.ts'
import { type Checkpoint, checkpoint, type ForeignBundle } from '../../model/evidence.ts'
import { agrees, verifyCheckpoint } from '../checkpoint.ts'
import { type LogEntry, logLeaf } from '../log.ts'
import { replacedBefore, trustedKeys } from '../statements/rotation.ts'
import { readShape } from '../statements/statement.ts'
import { pinsFor, type Trust } from './check-signature.ts'
import type { Findings } from './findings.ts'

export interface LogProof {
  /** Signed log heads (`ambit-head`), kept outside the store, in any order. */
  readonly heads: readonly unknown[]
  /** The log itself in sequence order; of purged events the leaf hash. With it a cut tail of any length is found. */
  readonly log?: readonly (LogEntry | string)[]
}

/** Checks where the bundle says it ends. */
export function checkCompleteness({ completeness, events }: ForeignBundle, findings: Findings): void {
  const last = events.at(-1)
  if (completeness === undefined || last === undefined) return
  findings.pass('completeness')
  if (completeness.correlation_id !== last.correlation.correlation_id)
    findings.fail('completeness', '/completeness/correlation_id', 'the completeness is of another correlation')
  if (completeness.head_hash !== last.content_hash)
    findings.fail('completeness', '/completeness/head_hash', 'the last event is not the head')
  if (completeness.as_of_sequence < (last.sequence ?? 0))
    findings.fail('completeness', '/completeness/as_of_sequence', 'the bundle has events from after its export')
}

/** Checks the bundle against log heads that were signed apart from it. */
export function checkHead(bundle: ForeignBundle, proof: LogProof | undefined, trust: Trust, findings: Findings): void {
  if (proof === undefined) return
  const heads = provenHeads(bundle, proof, trust, findings)
  if (heads.length > 0) findings.pass('checkpoint')
  else findings.leaveOpen('no head from before this export was given', 'checkpoint')
  checkCount(bundle, heads, findings)
  if (proof.log !== undefined && heads.length > 0) checkLog(bundle, heads, proof.log, findings)
}

/**
 * The heads that say something about the bundle, each under a key the verifier trusts. Without the log one from after
 * the export says nothing; one under a revoked key never does, nor one from after its key was replaced.
 */
function provenHeads(bundle: ForeignBundle, { heads, log }: LogProof, trust: Trust, findings: Findings): Checkpoint[] {
  const own = bundle.public_key === undefined ? [] : [bundle.public_key]
  const keys = trustedKeys(trust.pins ? pinsFor(bundle.host_id, trust.pins) : own, trust.rotations)
  const proven: Checkpoint[] = []
  for (const input of heads) {
    const read = readShape(checkpoint, input)
    if (!read.ok) findings.fail('checkpoint', '', read.message)
    else if (read.value.host_id !== bundle.host_id) {
      findings.fail('checkpoint', '/host_id', 'the log head is of another host')
    } else if (isEarlier(read.value, bundle) || log !== undefined) {
      const { key_id } = read.value.signature
      if (trust.revoked?.includes(key_id) || replacedBefore(key_id, read.value.at, trust.rotations)) continue
      const verified = verifyCheckpoint(read.value, keys)
      if (verified.ok) proven.push(verified.value)
      else findings.fail('checkpoint', '', verified.message)
    }
  }
  return proven
}

const isEarlier = ({ at }: Checkpoint, { created_at }: ForeignBundle): boolean =>
  (parseTime(at) ?? Number.NaN) < (parseTime(created_at) ?? Number.NaN)

/** A head signed before the export has counted no further than the export did. */
function checkCount(bundle: ForeignBundle, heads: readonly Checkpoint[], findings: Findings): void {
  const counted = heads.reduce((most, head) => (isEarlier(head, bundle) ? Math.max(most, head.sequence) : most), 0)
  if (bundle.completeness === undefined) {
    findings.fail('checkpoint', '/completeness', 'the bundle does not say where it ends')
  } else if (bundle.completeness.as_of_sequence < counted) {
    const message = `the host had counted ${counted} events before this export`
    findings.fail('checkpoint', '/completeness/as_of_sequence', message)
  }
}

type Log = readonly (LogEntry | string)[]

function checkLog(bundle: ForeignBundle, heads: readonly Checkpoint[], log: Log, findings: Findings): void {
  const size = heads.reduce((most, head) => Math.max(most, head.log_size), 0)
  const leaves = log.slice(0, size).map((row) => (typeof row === 'string' ? row : logLeaf(row)))
  if (!agrees(leaves, heads)) findings.fail('checkpoint', '', 'the log is not the one the head was signed over')
  for (const [index, { sequence = 0, correlation, content_hash }] of bundle.events.entries()) {
    const { correlation_id } = correlation
    const leaf = logLeaf({ sequence, correlation_id, content_hash: content_hash ?? '' })
    if (sequence <= size && leaves[sequence - 1] !== leaf)
      findings.failEvent('checkpoint', index, '', 'the event is not the one in the log')
  }
  const missing = missingEvent(bundle, log.slice(0, size))
  if (missing !== undefined)
    findings.fail('checkpoint', '/events', `event ${missing} is in the log and not in the bundle`)
}

/** The first event of the correlation that the log has, the bundle has not, and the export should have had. */
function missingEvent({ events, completeness }: ForeignBundle, log: Log): number | undefined {
  const held = new Set(events.map((event) => event.sequence))
  const counted = completeness?.as_of_sequence ?? Number.POSITIVE_INFINITY
  const row = log.find(
    (entry) =>
      typeof entry !== 'string' &&
      entry.correlation_id === events[0]?.correlation.correlation_id &&
      entry.sequence <= counted &&
      !held.has(entry.sequence),
  )
  return typeof row === 'object' ? row.sequence : undefined
}
