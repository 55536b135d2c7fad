import type { CapabilityDescriptor } from '../../model/capability.ts'
import { type Caller, isAllowedActor } from '../actors.ts'
import { type Gate, type Refusal, refuse } from './refusal.ts'

/** Who calls, with the rights the directory gives, and those it has taken away. */
export interface Rights {
  readonly descriptor: CapabilityDescriptor
  readonly caller: Caller
  readonly permissions: readonly string[]
  readonly revokedPermissions: readonly string[]
  /** Whether lists of actors believe an identity that nobody verified. */
  readonly unverifiedActors: 'refuse' | 'accept'
}

/** Gate 5b for every call: a verified subject where one is demanded, its permissions, then the list of actors. */
export const rights: Gate<Rights> = ({ descriptor, caller, permissions, revokedPermissions, unverifiedActors }) => {
  const isVerified = caller.subject.verified === true
  if (descriptor.policy?.auth_required === true && !isVerified)
    return blocked('entitlement_denied', 'the capability needs a verified caller')
  const needed = descriptor.metadata?.required_permissions ?? []
  const missing = needed.find((permission) => !isVerified || !permissions.includes(permission))
  if (missing !== undefined)
    return isVerified && revokedPermissions.includes(missing)
      ? blocked('entitlement_revoked', 'a permission that the call needs was taken back', missing)
      : blocked('entitlement_denied', 'the caller lacks a permission that the call needs', missing)
  return isAllowedActor(descriptor.policy?.allowed_actors ?? [], caller, { unverified: unverifiedActors })
    ? undefined
    : blocked('entitlement_denied', 'the caller is not among the actors that may call this')
}

const blocked = (reason: string, message: string, right?: string): Refusal =>
  refuse('rights', 'policy_blocked', { message, details: { decision: 'deny', reason, right } })
