import type { Json } from '../base/canonical.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { Subject } from '../model/identity/subject.ts'
import { inScopes } from '../model/text.ts'
import { isVisible } from '../policy/actors.ts'
import { isAlwaysDenied } from '../policy/decide.ts'
import { type HostRules, isRun } from '../policy/gates/boundary.ts'
import type { PolicySet } from '../policy/policies.ts'
import type { CallCaller } from './call.ts'
import type { Offer } from './deps.ts'
import { capabilityFacts } from './gates/rules.ts'
import { type Registered, standingOf, stateOf } from './registry.ts'
import { isSurfaced, type Surface } from './run.ts'

/** What a caller may call, but for what rules always deny; an anonymous one sees all. Hiding is courtesy only. */
export const discover = ({ registry, rules, policies }: Offer, { subject, scopes }: CallCaller, surface?: Surface) =>
  registry
    .all()
    .filter(({ descriptor, inRuns }) => (surface === undefined ? !inRuns : isSurfaced(surface, descriptor.id)))
    .filter(({ descriptor }) => scopes.length === 0 || inScopes(scopes, descriptor.id))
    .filter(({ descriptor }) => isVisible(descriptor.policy?.allowed_actors ?? [], subject?.id ?? null))
    .filter(({ descriptor }) => subject === null || !isRefused(policies, descriptor, subject))
    .map((capability) => served(capability, rules))

const isRefused = (policies: PolicySet, descriptor: CapabilityDescriptor, subject: Subject): boolean =>
  isAlwaysDenied(policies, descriptor.id, { subject: subject as Json, capability: capabilityFacts(descriptor) })

/** The descriptor as it is served: with its lifecycle and the state of its policy, which are the host's to say. */
function served(capability: Registered, rules: HostRules): CapabilityDescriptor {
  const { descriptor } = capability
  const { id, version, metadata } = descriptor
  const { lifecycle } = standingOf(capability)
  const state = lifecycle !== 'blocked' && isRun(rules, id) ? stateOf(descriptor) : 'blocked'
  return {
    ...descriptor,
    capability_uri: descriptor.capability_uri ?? `${id}:${version}`,
    metadata: { ...metadata, lifecycle, policy: { ...metadata?.policy, state } },
  }
}
