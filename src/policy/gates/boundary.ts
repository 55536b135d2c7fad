import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import type { JsonObject } from '../../base/object.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { BlockPattern } from '../../model/config/config.ts'
import { inScope } from '../../model/text.ts'
import { decideByPatterns, denialCodeOf } from '../decisions.ts'
import { higherRisk, type Risk, rankOf } from '../risk.ts'
import { firstRefusal, type Gate, refuse } from './refusal.ts'

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
export const boundary: Gate<BoundaryFacts> = (facts) =>
  firstRefusal([allowed, notBlocked, withinRisk, noPattern, rightAudience, rightEnvironment], facts)

const deny = (message: string, details: { readonly [key: string]: Json } = {}) =>
  refuse('policy', 'policy_blocked', { message, details: { decision: 'deny', ...details } })

const allowed: Gate<BoundaryFacts> = ({ rules, descriptor }) =>
  isListed(rules, descriptor.id)
    ? undefined
    : deny('the host does not run this capability', { matched_rule: 'host/allow' })

const notBlocked: Gate<BoundaryFacts> = ({ rules, descriptor, lifecycle }) =>
  lifecycle === 'blocked' || isBlocked(rules, descriptor.id)
    ? deny('the host blocks this capability', { matched_rule: 'host/blocked' })
    : undefined

const isListed = ({ allow }: HostRules, capabilityId: string): boolean =>
  allow === undefined || allow.some((scope) => inScope(scope, capabilityId))

const isBlocked = ({ blocked }: HostRules, capabilityId: string): boolean =>
  blocked.some((scope) => inScope(scope, capabilityId))

/** True if the host's own lists let a capability run at all. */
export const isRun = (rules: HostRules, capabilityId: string): boolean =>
  isListed(rules, capabilityId) && !isBlocked(rules, capabilityId)

/** The higher of what the capability and its policy say; medium when neither says anything. */
export function effectiveRisk({ risk, policy }: CapabilityDescriptor): Risk {
  if (risk === undefined) return policy?.risk_tier ?? 'medium'
  return higherRisk(risk, policy?.risk_tier)
}

const withinRisk: Gate<BoundaryFacts> = ({ rules, descriptor }) => {
  const risk = effectiveRisk(descriptor)
  return rankOf(risk) <= rankOf(rules.maxRisk)
    ? undefined
    : deny(`the capability's risk is ${risk}, the host allows ${rules.maxRisk}`, {
        matched_rule: 'host/max_risk',
        risk,
      })
}

/** A pattern that asks for approval does not refuse here: it is counted among the rules, so that people are asked once. */
const noPattern: Gate<BoundaryFacts> = ({ rules, descriptor, payload }) => {
  const decision = decideByPatterns(rules.patterns, { capabilityId: descriptor.id, input: payload })
  const code = denialCodeOf(decision)
  if (code === null || decision === 'requires_approval') return undefined
  return refuse('policy', code, {
    message: 'a block pattern matches',
    details: { decision, matched_rule: 'host/pattern' },
  })
}

const rightAudience: Gate<BoundaryFacts> = ({ rules, audience }) =>
  audience === undefined || audience === rules.hostId
    ? undefined
    : deny('the call is meant for another host', { reason: 'audience_mismatch' })

const rightEnvironment: Gate<BoundaryFacts> = ({ rules, environment }) =>
  rules.environment === undefined || environment === rules.environment
    ? undefined
    : deny(`the host takes calls of environment ${quote(rules.environment)} only`, { matched_rule: 'host/environment' })
