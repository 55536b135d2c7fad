import type { CapabilityDescriptor } from '../../model/capability.ts'
import { type Risk, rankOf } from '../../policy/risk.ts'

/**
 * The risk and the policy under which something is first offered, for people to change: what only reads is open, what
 * changes something needs to know who asks, and what may harm needs a yes.
 */
export function propose(
  risk: Risk,
  { isOpen, needsYes = rankOf(risk) >= rankOf('high') }: Proposal,
): Required<Pick<CapabilityDescriptor, 'risk' | 'policy'>> {
  return { risk, policy: { auth_required: needsYes || !isOpen, ...(needsYes && { approval_required: true }) } }
}

interface Proposal {
  readonly isOpen: boolean
  /** Whether somebody must agree to it; by its risk unless given. */
  readonly needsYes?: boolean | undefined
}
