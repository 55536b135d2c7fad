import type { CapabilityDescriptor } from '../model/capability.ts'
import { inScope } from '../model/text.ts'
import { isVisible } from '../policy/actors.ts'
import { type HostRules, isRun } from '../policy/gates/boundary.ts'
import type { CallCaller } from './call.ts'
import type { Offer } from './deps.ts'
import { type Registered, standingOf, stateOf } from './registry.ts'

/** What a caller may call, with the state it is in. A caller without a name sees all; hiding is courtesy, gates decide. */
export const discover = (
  { registry, rules }: Offer,
  { subject, scopes }: CallCaller,
): readonly CapabilityDescriptor[] =>
  registry
    .all()
    .filter(({ descriptor }) => scopes.length === 0 || scopes.some((scope) => inScope(scope, descriptor.id)))
    .filter(({ descriptor }) => isVisible(descriptor.policy?.allowed_actors ?? [], subject?.id ?? null))
    .map((capability) => served(capability, rules))

/** The descriptor as it is served: with its lifecycle and the state of its policy, which are the host's to say. */
const served = (capability: Registered, rules: HostRules): CapabilityDescriptor => {
  const { descriptor } = capability
  const { lifecycle } = standingOf(capability)
  return {
    ...descriptor,
    capability_uri: descriptor.capability_uri ?? `${descriptor.id}:${descriptor.version}`,
    metadata: {
      ...descriptor.metadata,
      lifecycle,
      policy: {
        ...descriptor.metadata?.policy,
        state: lifecycle !== 'blocked' && isRun(rules, descriptor.id) ? stateOf(descriptor) : 'blocked',
      },
    },
  }
}
