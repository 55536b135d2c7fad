import type { Json } from '../../base/canonical.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { AttemptRecord, PolicyDecision } from '../../model/evidence.ts'
import type { Facts } from '../../policy/conditions/values.ts'
import { decide, type Ruling } from '../../policy/decide.ts'
import { byStrictness, decideByPatterns, denialCodeOf } from '../../policy/decisions.ts'
import { effectiveRisk } from '../../policy/gates/boundary.ts'
import { fraction, hasFraction } from '../../policy/gates/checks.ts'
import { deny, gateNumbers, type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { type History, historyFacts, rememberedOf, valuesOf } from '../../policy/history.ts'
import { askPeople } from '../approvals/ask.ts'
import type { Attempt, GateAnswer, Resolved } from '../attempt.ts'
import { type Registered, stateOf } from '../registry.ts'
import { recall } from './history.ts'

type Policy = NonNullable<AttemptRecord['policy']>

/** The last part of gate 6: the rules. Without a policy that speaks of the capability, its own declaration decides. */
export function rulesGate(attempt: Resolved): GateAnswer {
  const { policies, readsHistory } = attempt.offer.policies.applicable(attempt.call.capabilityId)
  if (policies.length === 0) return declared(attempt, attempt.capability.declared)
  return readsHistory ? recall(attempt).then((history) => askRules(attempt, history)) : askRules(attempt)
}

/** Asks the rules; the attempt keeps what is put on record of their facts, and how to ask again with another history. */
function askRules(attempt: Resolved, history?: History): GateAnswer {
  const { call, capability, offer } = attempt
  const facts = factsOf(attempt, history)
  const ruling = decide(offer.policies, call.capabilityId, facts)
  const { readsHistory, kept } = offer.policies.applicable(call.capabilityId)
  attempt.facts = valuesOf(kept, facts)
  if (readsHistory)
    attempt.holds = (changed) =>
      answers(decide(offer.policies, call.capabilityId, { ...facts, history: historyFacts(changed) })) ===
      answers(ruling)
  attempt.basis = basisOf(ruling)
  const policy = policyOf(ruling, capability)
  if (!ruling.applies) return declared(attempt, policy)
  attempt.policy = policy
  attempt.decision = stricter(ruling.decision, patternsAsk(attempt))
  if (attempt.decision === 'allow') return undefined
  if (attempt.decision !== 'requires_approval') return refused(ruling, attempt)
  return ask(attempt, ruling.approval, ruling.rule ?? 'host/pattern')
}

/**
 * The rules of the packs of a run, asked beside those of the host: of both the stricter answer counts. They read the
 * arguments too, which have passed their schema by now.
 */
export function packRulesGate(attempt: Resolved): GateAnswer {
  const { call, input } = attempt
  const policies = call.run?.bounds?.policies
  if (policies === undefined) return undefined
  const { kept } = policies.applicable(call.capabilityId)
  const facts = { ...factsOf(attempt, undefined), args: input as Json }
  const ruling = decide(policies, call.capabilityId, facts)
  attempt.facts = { ...attempt.facts, ...valuesOf(kept, facts) }
  attempt.basis = [...attempt.basis, ...basisOf(ruling)]
  if (ruling.decision === 'allow') return undefined
  attempt.policy = policyOf(ruling, attempt.capability)
  if (ruling.decision !== 'requires_approval') return refused(ruling, attempt)
  return attempt.approval === null ? ask(attempt, ruling.approval, ruling.rule ?? 'pack/gate') : undefined
}

const basisOf = ({ matched }: Ruling): Attempt['basis'] =>
  matched.map(({ rule, effect, reads }) => ({ gate: gateNumbers.policy, rule, effect, reads: [...reads] }))

/** What comes of a ruling, as text: two that are equal here treat a call alike. */
const answers = ({ decision, rule, approval, applies }: Ruling): string =>
  JSON.stringify([applies, decision, rule, approval])

/** What rules may read: verified claims, never the raw payload. */
function factsOf({ deps, call, subject, context, capability }: Resolved, history: History | undefined): Facts {
  return {
    subject: (subject.verified === true ? subject : { id: subject.id, verified: false }) as Json,
    actor: (call.actor ?? undefined) as Json | undefined,
    context: context.value as Json,
    purpose: call.purpose,
    environment: call.correlation.environment,
    capability: capabilityFacts(capability.descriptor),
    history: history && historyFacts(history),
    ...call.run?.facts,
    now: new Date(deps.clock.now()).toISOString(),
  }
}

export function capabilityFacts(descriptor: CapabilityDescriptor): Json {
  const { class: data_classification, origin } = rememberedOf(descriptor)
  return {
    id: descriptor.id,
    version: descriptor.version,
    risk: effectiveRisk(descriptor),
    side_effects: descriptor.side_effects ?? [],
    tags: descriptor.tags ?? [],
    data_classification,
    origin,
    network: descriptor.metadata?.network,
  } as Json
}

/** Decides by what the capability itself declares; `policy` is what is on record for the call. */
function declared(attempt: Resolved, policy: Policy | null): GateAnswer {
  attempt.policy = policy
  if (attempt.capability.descriptor.policy === undefined)
    return deny('policy', 'nothing allows this call: the capability declares no policy and no policy names it', {
      reason: 'no_matching_allow',
    })
  attempt.basis = [...attempt.basis, { gate: gateNumbers.policy, rule: 'declared/policy', effect: 'allow', reads: [] }]
  return patternsAsk(attempt) === 'allow' ? undefined : ask(attempt, [], 'host/pattern')
}

/** Block patterns that ask for approval; those that refuse did so before. */
function patternsAsk({ offer: { rules }, call }: Attempt): PolicyDecision {
  if (rules.patterns.length === 0) return 'allow'
  return decideByPatterns(rules.patterns, { capabilityId: call.capabilityId, input: call.payload })
}

const stricter = (a: PolicyDecision, b: PolicyDecision): PolicyDecision =>
  byStrictness.indexOf(a) <= byStrictness.indexOf(b) ? a : b

const ask = (attempt: Resolved, terms: Ruling['approval'], rule: string): GateAnswer =>
  hasFraction(attempt.call.payload as Json) ? fraction('policy') : askPeople(attempt, { gate: 'policy', terms, rule })

function refused(ruling: Ruling, { capability }: Resolved): Refusal {
  const { decision, rule, policy, reason } = ruling
  const name = policy?.name ?? capability.descriptor.metadata?.policy?.name
  const message = rule === null ? 'no rule allows this call' : `${name ?? 'a policy'} does not allow this call`
  return refuse('policy', denialCodeOf(decision) ?? 'policy_blocked', message, {
    decision,
    policy: name,
    matched_rule: rule ?? undefined,
    policy_version: policy?.version,
    reason: reason ?? undefined,
    required_next_action: nextAction[decision],
  })
}

const nextAction: Partial<Record<Ruling['decision'], string>> = {
  requires_escalation: 'bring the call to a person who may decide beyond this policy',
  requires_more_evidence: 'send more evidence with a new invocation_id',
}

/** The policy that is on record for the call: the one that decided, or the capability's own declaration. */
function policyOf({ policy, decision }: Ruling, { declared: own, descriptor }: Registered): Policy | null {
  if (policy === null) return own
  const state = decision === 'requires_approval' ? 'approval_required' : stateOf(descriptor)
  return { name: policy.name, version: policy.version, hash: policy.hash as `sha256:${string}`, state }
}

/** The declaration on record for a call that no rule was asked about, in the state that the refusal shows. */
export function declaredState({ declared: own }: Registered, { denial }: Refusal): Policy | null {
  const { reason, matched_rule } = denial.details ?? {}
  if (own === null) return null
  if (reason === 'entitlement_revoked') return { ...own, state: 'revoked' }
  return matched_rule === 'host/blocked' || matched_rule === 'host/allow' ? { ...own, state: 'blocked' } : own
}
