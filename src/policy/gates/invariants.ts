import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import type { JsonObject } from '../../base/object.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import { type Gate, type Refusal, refuse } from './refusal.ts'

type Invariant = NonNullable<CapabilityDescriptor['invariants']>[number]

/** Gate 7: what the host itself must hold to be true of a call. One it does not know how to check denies. */
export const invariants: Gate<{ readonly descriptor: CapabilityDescriptor; readonly payload: JsonObject }> = ({
  descriptor,
  payload,
}) => {
  for (const invariant of descriptor.invariants ?? []) {
    if (invariant.enforcement !== 'host' || (invariant.failure_behavior ?? 'deny') !== 'deny') continue
    const problem = problemOf(invariant, payload)
    if (problem !== undefined)
      return refuse('invariants', 'invariant_failed', { message: problem, invariantId: invariant.id })
  }
  return undefined
}

function problemOf({ id, kind, parameters }: Invariant, payload: JsonObject): string | undefined {
  if (kind !== 'required_payload_fields') return `the host cannot check invariant ${quote(id)}`
  const fields = parameters?.['fields']
  if (!Array.isArray(fields)) return `invariant ${quote(id)} names no fields`
  const missing = fields.find((field) => typeof field !== 'string' || !Object.hasOwn(payload, field))
  return missing === undefined ? undefined : `the payload lacks a field that invariant ${quote(id)} demands`
}

/** A commitment that people sign must be the same for everybody who computes it, and fractions are not. */
export const fraction = (gate: 'policy' | 'invariants'): Refusal =>
  refuse(gate, 'invariant_failed', {
    message: 'a call that may need approval takes no fractions: send them as text',
    invariantId: 'ambit.no_fractions',
  })

export function hasFraction(value: Json | undefined): boolean {
  if (typeof value === 'number') return !Number.isInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasFraction)
}
