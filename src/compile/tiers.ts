import type { CapabilityDescriptor } from '../model/capability.ts'
import type { CapabilityTier } from '../model/contract/compiled.ts'
import { effectiveRisk } from '../policy/gates/boundary.ts'

/** The tier of a capability that no pack has described: nobody lowers one by leaving it out. */
export function hostTier(descriptor: CapabilityDescriptor): CapabilityTier {
  if ((descriptor.side_effects ?? []).length === 0) return tierOf('read', 'read', 'read_only')
  const risk = effectiveRisk(descriptor)
  const isReversible = risk === 'low' || risk === 'medium'
  return tierOf('write', isReversible ? 'write_reversible' : 'write_irreversible', modes[risk])
}

/** That of a tool of a resource which needs `read-write`. */
export const resourceWriteTier = (): CapabilityTier => tierOf('write', 'write_reversible', 'local_write')

const modes = { low: 'local_write', medium: 'network', high: 'delegated', critical: 'destructive' } as const

const tierOf = (
  kind: CapabilityTier['kind'],
  risk_level: CapabilityTier['risk_level'],
  approval_mode: CapabilityTier['approval_mode'],
): CapabilityTier => ({ kind, risk_level, approval_mode, source: 'host' })
