import { parseTime } from '../../base/time.ts'
import { type Checkpoint, checkpoint, type ForeignBundle } from '../../model/evidence.ts'
import { verifyCheckpoint } from '../checkpoint.ts'
import { replacedBefore, trustedKeys } from '../statements/rotation.ts'
import { readShape } from '../statements/statement.ts'
import { pinsFor, type Trust } from './check-signature.ts'
import type { Findings } from './findings.ts'

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

/** Checks the bundle against log heads that were signed apart from it: those from before the export bound its count. */
export function checkHead(
  bundle: ForeignBundle,
  heads: readonly unknown[] | undefined,
  trust: Trust,
  findings: Findings,
): void {
  if (heads === undefined) return
  const proven = provenHeads(bundle, heads, trust, findings)
  if (proven.length > 0) findings.pass('checkpoint')
  else findings.leaveOpen('no head from before this export was given', 'checkpoint')
  const counted = Math.max(0, ...proven.map((head) => head.sequence))
  if (bundle.completeness === undefined) {
    findings.fail('checkpoint', '/completeness', 'the bundle does not say where it ends')
  } else if (bundle.completeness.as_of_sequence < counted) {
    const message = `the host had counted ${counted} events before this export`
    findings.fail('checkpoint', '/completeness/as_of_sequence', message)
  }
}

/** The heads from before the export, under a trusted key that was neither revoked nor replaced by then. */
function provenHeads(
  bundle: ForeignBundle,
  heads: readonly unknown[],
  trust: Trust,
  findings: Findings,
): readonly Checkpoint[] {
  const own = bundle.public_key === undefined ? [] : [bundle.public_key]
  const keys = trustedKeys(trust.pins ? pinsFor(bundle.host_id, trust.pins) : own, trust.rotations)
  const proven: Checkpoint[] = []
  for (const input of heads) {
    const read = readShape(checkpoint, input)
    if (!read.ok) findings.fail('checkpoint', '', read.message)
    else if (read.value.host_id !== bundle.host_id) {
      findings.fail('checkpoint', '/host_id', 'the log head is of another host')
    } else if (isEarlier(read.value, bundle)) {
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
