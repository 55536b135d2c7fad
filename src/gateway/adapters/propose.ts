import type { CapabilityDescriptor } from '../../model/capability.ts'

export type Risk = NonNullable<CapabilityDescriptor['risk']>

const order: readonly Risk[] = ['low', 'medium', 'high', 'critical']

/** The higher of two: what something says of itself may raise its risk, never lower it. */
export const higherRisk = (risk: Risk, said: unknown): Risk =>
  order.indexOf(said as Risk) > order.indexOf(risk) ? (said as Risk) : risk

/**
 * The risk and the policy under which something is first offered, for people to change: what only reads is open, what
 * changes something needs to know who asks, and what may harm needs a yes.
 */
export function propose(
  risk: Risk,
  { isOpen, needsYes = order.indexOf(risk) >= order.indexOf('high') }: Proposal,
): Required<Pick<CapabilityDescriptor, 'risk' | 'policy'>> {
  return { risk, policy: { auth_required: needsYes || !isOpen, ...(needsYes && { approval_required: true }) } }
}

interface Proposal {
  readonly isOpen: boolean
  /** Whether somebody must agree to it; by its risk unless given. */
  readonly needsYes?: boolean | undefined
}
