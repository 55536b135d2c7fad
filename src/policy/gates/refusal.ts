import { defined, type JsonObject } from '../../base/object.ts'
import type { Denial } from '../../model/wire/denial.ts'

/** The gates by name, in order, each with its number in evidence and on the wire. */
export const gateNumbers = {
  key_scope: 'K',
  repeat: 0,
  capability: 1,
  version: 2,
  enabled: 3,
  mode: 4,
  mandate: 5,
  surface: '5b',
  arguments: '5b',
  grants: '5b',
  rights: '5b',
  policy: 6,
  settled: '6b',
  invariants: 7,
  limits: 8,
  approval: 8,
  input: 9,
  safety: 10,
  budget: '10b',
  output: 12,
} as const

export type GateName = keyof typeof gateNumbers

export interface Refusal {
  readonly gate: GateName
  readonly outcome: 'denied' | 'skipped'
  readonly denial: Denial
}

/** One check over facts. It answers a refusal, or undefined to let the call through to the next. */
export type Gate<Facts> = (facts: Facts) => Refusal | undefined

/** Codes after which the same caller may succeed later: with a yes, with more evidence, in another budget. */
const retryable = /^(?:approval_required|budget_exceeded|escalation_required|evidence_required|host_unreachable)$/

export const refuse = (gate: GateName, code: string, message: string, details?: JsonObject): Refusal => ({
  gate,
  outcome: code === 'capability_disabled' ? 'skipped' : 'denied',
  denial: { code, message, retryable: retryable.test(code), ...(details && { details: defined(details) }) },
})

/** The refusal of a call that the host or a policy forbids. */
export const deny = (gate: GateName, message: string, details: JsonObject): Refusal =>
  refuse(gate, 'policy_blocked', message, { decision: 'deny', ...details })
