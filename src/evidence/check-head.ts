import { parseTime } from '../base/time.ts'
import type { Checkpoint, ForeignBundle } from '../model/evidence.ts'
import type { Trust } from './check-signature.ts'
import { verifyCheckpoint } from './checkpoint.ts'
import type { Findings } from './findings.ts'
import { type LogEntry, logLeaf } from './log.ts'
import { merkleRoot } from './merkle.ts'
import { trustedKeys } from './rotation.ts'

export interface LogProof {
  /** A signed log head (`ambit-head`), kept outside the store. */
  readonly head: unknown
  /** The log itself in sequence order; of purged events the leaf hash. With it a cut tail of any length is found. */
  readonly log?: readonly (LogEntry | string)[]
}

/** Checks where the bundle says it ends. */
export function checkCompleteness({ completeness, events }: ForeignBundle, findings: Findings): void {
  const last = events.at(-1)
  if (completeness === undefined || last === undefined) return
  findings.pass('completeness')
  if (completeness.correlation_id !== last.correlation.correlation_id) {
    findings.fail('completeness', '/completeness/correlation_id', 'the completeness is of another correlation')
  }
  if (completeness.head_hash !== last.content_hash) {
    findings.fail('completeness', '/completeness/head_hash', 'the last event is not the head')
  }
  if (completeness.as_of_sequence < (last.sequence ?? 0)) {
    findings.fail('completeness', '/completeness/as_of_sequence', 'the bundle has events from after its export')
  }
}

/** Checks the bundle against a log head that was signed apart from it. */
export function checkHead(bundle: ForeignBundle, proof: LogProof | undefined, trust: Trust, findings: Findings): void {
  if (proof === undefined) return
  findings.pass('checkpoint')
  const own = bundle.public_key === undefined ? [] : [bundle.public_key]
  const verified = verifyCheckpoint(proof.head, trustedKeys(trust.pins ?? own, trust.rotations))
  if (!verified.ok) {
    findings.fail('checkpoint', '', verified.message)
  } else if (verified.value.host_id !== bundle.host_id) {
    findings.fail('checkpoint', '/host_id', 'the log head is of another host')
  } else {
    checkCount(bundle, verified.value, findings)
    if (proof.log !== undefined) checkLog(bundle, verified.value, proof.log, findings)
  }
}

/** A head signed before the export has counted no further than the export did. */
function checkCount({ created_at, completeness }: ForeignBundle, head: Checkpoint, findings: Findings): void {
  const earlier = (parseTime(head.at) ?? Number.NaN) < (parseTime(created_at) ?? Number.NaN)
  if (completeness === undefined) {
    findings.fail('checkpoint', '/completeness', 'the bundle does not say where it ends')
  } else if (earlier && completeness.as_of_sequence < head.sequence) {
    const message = `the host had counted ${head.sequence} events before this export`
    findings.fail('checkpoint', '/completeness/as_of_sequence', message)
  }
}

type Log = readonly (LogEntry | string)[]

function checkLog(bundle: ForeignBundle, head: Checkpoint, log: Log, findings: Findings): void {
  const leaves = log.slice(0, head.log_size).map((row) => (typeof row === 'string' ? row : logLeaf(row)))
  if (leaves.length < head.log_size || merkleRoot(leaves) !== head.log_root) {
    findings.fail('checkpoint', '', 'the log is not the one the head was signed over')
  }
  for (const [index, { sequence = 0, correlation, content_hash }] of bundle.events.entries()) {
    const { correlation_id } = correlation
    const leaf = logLeaf({ sequence, correlation_id, content_hash: content_hash ?? '' })
    if (sequence <= head.log_size && leaves[sequence - 1] !== leaf) {
      findings.failEvent('checkpoint', index, '', 'the event is not the one in the log')
    }
  }
  const missing = missingEvent(bundle, log.slice(0, head.log_size))
  if (missing !== undefined) {
    findings.fail('checkpoint', '/events', `event ${missing} is in the log and not in the bundle`)
  }
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
