import { stable } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { type CallRecord, callRecord, type ForeignBundle, type ForeignEvent, ownTime } from '../../model/evidence.ts'
import { contentHash, contentHashV1, headerTexts, rootHash, schemeOf, standsIn } from '../event.ts'
import { asJson } from '../json.ts'
import { recordOf, uncoveredMember, unprovenMember } from './coverage.ts'
import type { Findings } from './findings.ts'
import { predicateOf } from './shape.ts'

export interface Coverage {
  readonly covered: 'yes' | 'no' | 'withheld'
  /** For each event, whether its record says what the event says. */
  readonly lines: readonly boolean[]
}

/** Checks all that can be seen in the events themselves, and says how much of them the hashes cover. */
export function checkEvents(bundle: ForeignBundle, findings: Findings): Coverage {
  const { events } = bundle
  for (let index = 0; index < events.length; index++) {
    const event = events[index] as ForeignEvent
    checkHash(event, index, findings)
    checkPlace(bundle, event, index, findings)
  }
  findings.pass('hashes', 'chain', 'commitments', 'root')
  const root = rootHash(events.map((event) => event.content_hash ?? ''))
  if (root !== bundle.root_hash) findings.fail('root', '/root_hash', 'the root is not that of the content hashes')
  checkSequence(events, findings)
  return checkCoverage(bundle, findings)
}

export function checkHash(event: ForeignEvent, index: number, findings: Findings): void {
  const scheme = schemeOf(event)
  const payload = payloadTextOf(event)
  if (scheme === undefined) {
    findings.failEvent('hashes', index, 'hash_scheme', 'the hash scheme is unknown')
  } else if (payload === undefined) {
    findings.failEvent('commitments', index, 'payload', 'the payload has no canonical form')
  } else {
    if (!isCommitted(event, scheme, payload))
      findings.failEvent('commitments', index, 'payload_commitment', 'the payload is not the one committed to')
    if (event.content_hash !== hashOf(event, scheme, payload))
      findings.failEvent('hashes', index, 'content_hash', 'the content hash is not that of the event')
  }
}

/** A v1 event needs no commitment, but one it shows must be right: its hash does not cover it. */
function isCommitted(event: ForeignEvent, scheme: 'v1' | 'v2', payload: string): boolean {
  const commitment = event.payload_commitment ?? undefined
  if (scheme === 'v1') return commitment === undefined || commitment === sha256(payload)
  return commitment !== undefined && (standsIn(event.payload) || commitment === sha256(payload))
}

function hashOf(event: ForeignEvent, scheme: 'v1' | 'v2', payload: string): string {
  const header = headerTexts(event, event.host_id, event.prev_hash ?? null)
  return scheme === 'v1' ? contentHashV1(header, payload) : contentHash(header, event.payload_commitment ?? '')
}

function payloadTextOf(event: ForeignEvent): string | undefined {
  try {
    return stable(asJson(event.payload))
  } catch {
    return undefined
  }
}

function checkPlace(bundle: ForeignBundle, event: ForeignEvent, index: number, findings: Findings): void {
  const before = bundle.events[index - 1]
  const tail = before?.content_hash ?? null
  if ((event.prev_hash ?? null) !== tail)
    findings.failEvent('chain', index, 'prev_hash', 'the event does not follow the one before')
  if (event.host_id !== bundle.host_id) findings.failEvent('chain', index, 'host_id', 'the event is of another host')
  if (before && event.correlation.correlation_id !== before.correlation.correlation_id)
    findings.failEvent('chain', index, 'correlation/correlation_id', 'the event is of another correlation')
}

function checkSequence(events: readonly ForeignEvent[], findings: Findings): void {
  if (events.every((event) => event.sequence === undefined)) return
  findings.pass('sequence')
  let last = -1
  for (const [index, { sequence = last }] of events.entries()) {
    if (sequence <= last) findings.failEvent('sequence', index, 'sequence', 'the sequence does not rise')
    last = sequence
  }
}

/** A bundle that shows payloads and not a single call record is another host's: valid, and not covered. */
function checkCoverage(bundle: ForeignBundle, findings: Findings): Coverage {
  const { events } = bundle
  const lines: boolean[] = []
  let records = 0
  let withheld = 0
  let tenant: string | undefined
  for (let index = 0; index < events.length; index++) {
    const event = events[index] as ForeignEvent
    const hidden = standsIn(event.payload)
    const record = hidden ? undefined : recordOf(event)
    if (hidden) withheld++
    if (record !== undefined) records++
    const good = isCallRecord(record)
    lines.push(good && checkRecord(event, record, tenant, index, findings))
    if (good) tenant = record.tenant
    else if (record !== undefined) {
      findings.failEvent('decision', index, 'payload/decision', 'the call record is not well formed')
    }
  }
  const bare = events.length - records - withheld
  if (records > 0) checkWhole(bundle, bare, findings)
  const ours = records > 0 || (bare === 0 && mayBeOurs(bundle))
  const isSilent = withheld === 0 || checkWithheld(events, { shown: events.length - withheld, ours }, findings)
  const isOpen = bare > 0 || !isSilent || findings.failed('decision') || findings.failed('coverage')
  return { covered: isOpen ? 'no' : withheld > 0 ? 'withheld' : 'yes', lines }
}

/** With every payload withheld, our bundles are recognised by members that we always write, hashed or signed. */
const mayBeOurs = ({ completeness, created_at, events }: ForeignBundle): boolean =>
  completeness !== undefined &&
  [created_at, ...events.map(({ timestamp }) => timestamp)].every((time) => ownTime.safeParse(time).success)

/** Nothing proves what an event with a withheld payload says: in a bundle of ours it must be silent. True if all are. */
function checkWithheld(
  events: readonly ForeignEvent[],
  { shown, ours }: { readonly shown: number; readonly ours: boolean },
  findings: Findings,
): boolean {
  const open = `checked for ${shown} of ${events.length} events, the payloads of the others are withheld`
  findings.leaveOpen(open, 'commitments', ...(ours ? (['decision', 'coverage'] as const) : []))
  const said = events.map((event) => (standsIn(event.payload) ? unprovenMember(event) : undefined))
  for (const [index, member] of said.entries()) {
    if (member === undefined || !ours) continue
    const message = `\`${member}\` of a withheld event is covered by nothing and must be empty`
    findings.failEvent('coverage', index, member, message)
  }
  return said.every((member) => member === undefined)
}

const isCallRecord = predicateOf(callRecord)

/** True if the record says what its event says. */
function checkRecord(
  event: ForeignEvent,
  record: CallRecord,
  tenant: string | undefined,
  index: number,
  findings: Findings,
): boolean {
  const member = uncoveredMember(event, record)
  if (member !== undefined) findings.failEvent('coverage', index, member, `\`${member}\` is not what the record says`)
  if (tenant !== undefined && tenant !== record.tenant)
    findings.failEvent('coverage', index, 'payload/decision/tenant', 'the event is of another tenant')
  return member === undefined
}

/** What must stand in a bundle of ours, so that stripping it is seen. */
function checkWhole(bundle: ForeignBundle, bare: number, findings: Findings): void {
  findings.pass('decision', 'coverage')
  if (bare > 0) findings.fail('coverage', '/events', 'some events have a call record and others have none')
  if (bundle.completeness === undefined) findings.fail('coverage', '/completeness', 'the completeness is missing')
  if (bundle.assurance === 'signed' && bundle.host_identity === undefined)
    findings.fail('coverage', '/host_identity', 'the host identity is missing')
}
