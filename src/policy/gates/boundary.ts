import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import type { JsonObject } from '../../base/object.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { BlockPattern } from '../../model/config/config.ts'
import { inScopes } from '../../model/text.ts'
import { decideByPatterns, denialCodeOf } from '../decisions.ts'
import { higherRisk, type Risk, rankOf } from '../risk.ts'
import { deny, type Gate, refuse } from './refusal.ts'

/** What a host allows at all, whatever a capability or its policies say. */
export interface HostRules {
  readonly hostId: string
  /** Capabilities that may run; undefined means all. */
  readonly allow?: readonly string[]
  readonly blocked: readonly string[]
  readonly maxRisk: Risk
  readonly patterns: readonly BlockPattern[]
  /** The only environment whose calls are taken. */
  readonly environment?: string
}

export interface BoundaryFacts {
  readonly rules: HostRules
  readonly descriptor: CapabilityDescriptor
  readonly lifecycle: string
  readonly payload: JsonObject
  readonly audience: Json | undefined
  readonly environment: string | undefined
}

/** The first half of gate 6: what the host decides by itself, in this order. */
export const boundary: Gate<BoundaryFacts> = ({ rules, descriptor, lifecycle, payload, audience, environment }) => {
  const { id } = descriptor
  if (!isListed(rules, id))
    return deny('policy', 'the host does not run this capability', { matched_rule: 'host/allow' })
  if (lifecycle === 'blocked' || isBlocked(rules, id))
    return deny('policy', 'the host blocks this capability', { matched_rule: 'host/blocked' })
  const risk = effectiveRisk(descriptor)
  if (rankOf(risk) > rankOf(rules.maxRisk)) {
    const message = `the capability's risk is ${risk}, the host allows ${rules.maxRisk}`
    return deny('policy', message, { matched_rule: 'host/max_risk', risk })
  }
  const decision = decideByPatterns(rules.patterns, { capabilityId: id, input: payload })
  const code = denialCodeOf(decision)
  // A pattern that asks for approval does not refuse here: it is counted among the rules, so that people are asked once.
  if (code !== null && decision !== 'requires_approval')
    return refuse('policy', code, 'a block pattern matches', { decision, matched_rule: 'host/pattern' })
  if (audience !== undefined && audience !== rules.hostId)
    return deny('policy', 'the call is meant for another host', { reason: 'audience_mismatch' })
  if (rules.environment === undefined || environment === rules.environment) return undefined
  return deny('policy', `the host takes calls of environment ${quote(rules.environment)} only`, {
    matched_rule: 'host/environment',
  })
}

const isListed = ({ allow }: HostRules, capabilityId: string): boolean =>
  allow === undefined || inScopes(allow, capabilityId)

const isBlocked = ({ blocked }: HostRules, capabilityId: string): boolean => inScopes(blocked, capabilityId)

export const isRun = (rules: HostRules, capabilityId: string): boolean =>
  isListed(rules, capabilityId) && !isBlocked(rules, capabilityId)

/** The higher of what the capability and its policy say; medium when neither says anything. */
export const effectiveRisk = ({ risk, policy }: CapabilityDescriptor): Risk =>
  risk === undefined ? (policy?.risk_tier ?? 'medium') : higherRisk(risk, policy?.risk_tier)
