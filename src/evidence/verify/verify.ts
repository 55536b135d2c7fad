import { type ForeignBundle, type ForeignEvent, foreignBundle, type Tier } from '../../model/evidence.ts'
import { problemsOf } from '../../model/parse.ts'
import { standsIn } from '../event.ts'
import { type Coverage, checkEvents } from './check-events.ts'
import { checkCompleteness, checkHead } from './check-head.ts'
import { checkSignature, type Trust } from './check-signature.ts'
import { bundleMeanings, type Check, type CheckName, Findings } from './findings.ts'
import { predicateOf } from './shape.ts'

export interface VerifyOptions extends Trust {
  /** Signed log heads (`ambit-head`), kept outside the store, in any order. */
  readonly checkpoint?: { readonly heads: readonly unknown[] }
}

export interface BundleReport {
  /** No check failed. Without pins this says only that the bundle agrees with the key it brings. */
  readonly valid: boolean
  /** Whether who did what, in which order, is protected too; `withheld` where a payload is not shown. */
  readonly covered: Coverage['covered']
  readonly tier: Tier | null
  readonly host_id: string | null
  readonly correlation_id: string | null
  readonly key_id: string | null
  readonly events: number
  readonly checks: readonly Check[]
  readonly first: { readonly check: CheckName; readonly at: string; readonly message: string } | null
  readonly first_broken_sequence: number | null
  readonly story: readonly StoryLine[]
}

/** One event as people ask about it. Only as true as the report it stands in says. */
interface StoryLine {
  readonly sequence: number | null
  readonly timestamp: string
  readonly event_type: string
  readonly capability_id: string
  readonly invocation_id: string
  readonly subject: string | null
  readonly actor: string | null
  readonly outcome: string | null
  /** The code of a denial or the type of an error. */
  readonly reason: string | null
  /** Whether the hashes cover sequence, subject, actor and reason; never in a bundle that is not valid. */
  readonly covered: boolean
}

/** Verifies a bundle of any host, offline. Total: whatever the input is, it answers, and garbage is not valid. */
export function verifyBundle(input: unknown, options: VerifyOptions = {}): BundleReport {
  try {
    if (!isBundle(input)) return malformed(problemsOf(foreignBundle, input)[0])
    const findings = new Findings(bundleMeanings)
    findings.pass('shape')
    const coverage = checkEvents(input, findings)
    checkCompleteness(input, findings)
    checkSignature(input, options, findings)
    checkHead(input, options.checkpoint?.heads, options, findings)
    return reportOn(findings, input, coverage)
  } catch {
    return malformed()
  }
}

// The input itself is verified, not a parsed copy: what is hashed must be what came in.
const isBundle = predicateOf(foreignBundle)

function malformed({ pointer, message } = { pointer: '', message: 'cannot be read' }): BundleReport {
  const findings = new Findings(bundleMeanings)
  findings.fail('shape', pointer, message)
  return reportOn(findings)
}

function reportOn(findings: Findings, bundle?: ForeignBundle, coverage?: Coverage): BundleReport {
  const { sound, first } = findings
  const { events = [] } = bundle ?? {}
  return {
    valid: sound,
    covered: (sound && coverage?.covered) || 'no',
    tier: bundle?.assurance ?? null,
    host_id: bundle?.host_id ?? null,
    correlation_id: events[0]?.correlation.correlation_id ?? null,
    key_id: bundle?.signature?.key_id ?? null,
    events: events.length,
    checks: findings.checks(),
    first: first ? { check: first.check, at: first.at, message: first.message } : null,
    first_broken_sequence: (first && events[first.index]?.sequence) ?? null,
    story: events.map((event, index) => lineOf(event, sound && coverage?.lines[index] === true)),
  }
}

const lineOf = (event: ForeignEvent, covered: boolean): StoryLine => ({
  ...(standsIn(event.payload) ? unattributed : attributed(event)),
  timestamp: event.timestamp,
  event_type: event.event_type,
  capability_id: event.capability_id,
  invocation_id: event.invocation_id,
  outcome: event.outcome ?? null,
  covered,
})

/** The report of a withheld event shows only members that are hashed. */
const unattributed = { sequence: null, subject: null, actor: null, reason: null } as const

const attributed = (event: ForeignEvent): Pick<StoryLine, keyof typeof unattributed> => ({
  sequence: event.sequence ?? null,
  subject: textIn(event.subject, 'id'),
  actor: textIn(memberOf(event.payload['decision'], 'actor'), 'id'),
  reason: textIn(event.denial, 'code') ?? textIn(event.error, 'type'),
})

function textIn(value: unknown, name: string): string | null {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : null
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
