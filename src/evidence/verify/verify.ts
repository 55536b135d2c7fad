import { type ForeignBundle, foreignBundle, type Tier } from '../../model/evidence.ts'
import { type ParseProblem, problemsOf } from '../../model/parse.ts'
import { type StoryLine, storyOf } from '../story.ts'
import { type Covered, checkEvents } from './check-events.ts'
import { checkCompleteness, checkHead, type LogProof } from './check-head.ts'
import { checkSignature, type Trust } from './check-signature.ts'
import { type Check, type CheckName, Findings } from './findings.ts'
import { predicateOf } from './shape.ts'

export interface VerifyOptions extends Trust {
  readonly checkpoint?: LogProof
}

export interface BundleReport {
  /** No check failed. Without pins this says only that the bundle agrees with the key it brings. */
  readonly valid: boolean
  /** Whether who did what, in which order, is protected too; `withheld` where a payload is not shown. */
  readonly covered: Covered
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

/** Verifies a bundle of any host, offline. Total: whatever the input is, it answers, and garbage is not valid. */
export function verifyBundle(input: unknown, options: VerifyOptions = {}): BundleReport {
  const findings = new Findings()
  try {
    if (!isBundle(input)) return malformed(problemsOf(foreignBundle, input)[0])
    findings.pass('shape')
    return verifyShaped(input, options, findings)
  } catch {
    return malformed()
  }
}

// The input itself is verified, not a parsed copy: what is hashed must be what came in.
const isBundle = predicateOf(foreignBundle)

function verifyShaped(bundle: ForeignBundle, options: VerifyOptions, findings: Findings): BundleReport {
  const coverage = checkEvents(bundle, findings)
  checkCompleteness(bundle, findings)
  checkSignature(bundle, options, findings)
  checkHead(bundle, options.checkpoint, options, findings)
  const first = findings.first()
  return {
    valid: findings.sound,
    covered: findings.sound ? coverage.covered : 'no',
    tier: bundle.assurance,
    host_id: bundle.host_id,
    correlation_id: bundle.events[0]?.correlation.correlation_id ?? null,
    key_id: bundle.signature?.key_id ?? null,
    events: bundle.events.length,
    checks: findings.checks(),
    first: first && { check: first.check, at: first.at, message: first.message },
    first_broken_sequence: (first && bundle.events[first.index]?.sequence) ?? null,
    story: storyOf(bundle.events, coverage, findings.sound),
  }
}

const unreadable = { pointer: '', message: 'cannot be read' }

function malformed({ pointer, message }: Pick<ParseProblem, 'pointer' | 'message'> = unreadable): BundleReport {
  const findings = new Findings()
  findings.fail('shape', pointer, message)
  const unknown = { tier: null, host_id: null, correlation_id: null, key_id: null, first_broken_sequence: null }
  const first = { check: 'shape', at: pointer, message } as const
  return { valid: false, covered: 'no', ...unknown, events: 0, checks: findings.checks(), first, story: [] }
}
