import { canonical } from '../base/canonical.ts'
import type { JsonObject } from '../base/object.ts'
import type { BlockPattern } from '../model/config/config.ts'
import type { PolicyDecision } from '../model/evidence.ts'

/** From the strictest to the mildest: among several rules the first of these wins. */
export const byStrictness: readonly PolicyDecision[] = [
  'deny',
  'sandbox_only',
  'requires_escalation',
  'requires_more_evidence',
  'requires_approval',
  'allow',
]

/** The strictest of several decisions; undefined of none. */
export const strictest = (decisions: readonly PolicyDecision[]): PolicyDecision | undefined =>
  byStrictness.find((decision) => decisions.includes(decision))

/** The code a call is denied with; null where it is not. There is no sandbox, so what may only run in one is denied. */
export const denialCodeOf = (decision: PolicyDecision): string | null => codes[decision]

const codes: Readonly<Record<PolicyDecision, string | null>> = {
  allow: null,
  deny: 'policy_blocked',
  requires_approval: 'approval_required',
  requires_escalation: 'escalation_required',
  requires_more_evidence: 'evidence_required',
  sandbox_only: 'policy_blocked',
}

/** What the host's block patterns say to one call. A pattern that cannot be read denies. */
export function decideByPatterns(
  patterns: readonly BlockPattern[],
  call: { readonly capabilityId: string; readonly input: JsonObject },
): PolicyDecision {
  const matching = patterns
    .filter((pattern) => pattern.capability_id === call.capabilityId)
    .map((pattern) => decisionOf(pattern, call.input))
  return strictest(matching) ?? 'allow'
}

function decisionOf({ field, pattern, decision = 'deny' }: BlockPattern, input: JsonObject): PolicyDecision {
  const value = Object.hasOwn(input, field) ? input[field] : undefined
  if (value === undefined) return 'allow'
  try {
    // A text wrapped in a list or an object does not slip through.
    const text = typeof value === 'string' ? value : canonical(value)
    return new RegExp(pattern, 'iu').test(text) ? decision : 'allow'
  } catch {
    return 'deny'
  }
}
