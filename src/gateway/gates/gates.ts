import type { Json } from '../../base/canonical.ts'
import { scrubText } from '../../evidence/redaction/redact-values.ts'
import { verifyMandate } from '../../evidence/statements/mandate.ts'
import { policyDecision } from '../../model/evidence.ts'
import { inScopes } from '../../model/text.ts'
import type { Mandate } from '../../model/wire/mandate.ts'
import { boundary } from '../../policy/gates/boundary.ts'
import {
  callMode,
  context,
  enabled,
  fraction,
  hasFraction,
  invariants,
  keyScope,
  resolveCapability,
  rights,
} from '../../policy/gates/checks.ts'
import { deny, gateNumbers, type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { problemText } from '../../policy/schema/problems.ts'
import { revokedMandates } from '../../storage/tables/statements.ts'
import { askPeople } from '../approvals/ask.ts'
import { type Attempt, type GateAnswer, type Resolved, sayMore, secretsOf } from '../attempt.ts'
import { type Call, callKey } from '../call.ts'
import type { SafetyEvaluator, SafetyVerdict } from '../deps.ts'
import { hostBudgetGate, runBudgetGate } from '../limits/budgets.ts'
import { checkLimits, type Limit, limitsGate, limitUses } from '../limits/limits.ts'
import { requiresApproval, standingOf } from '../registry.ts'
import { remember } from './history.ts'
import { argumentsGate, inputGate } from './input.ts'
import { declaredState, packRulesGate, rulesGate } from './rules.ts'
import { authorityGate, conditionsGate, effectGate, grantsGate, runToolGate, surfaceGate } from './run.ts'

type Gate = (attempt: Resolved) => GateAnswer

/** The order is the protocol's and everybody's: the first that fires decides, those after it leave no trace. */
const gates: readonly Gate[] = [
  surfaceGate,
  versionGate,
  runToolGate,
  ({ capability }) => enabled(standingOf(capability)),
  ({ call, capability }) => callMode({ mode: call.mode, descriptor: capability.descriptor }),
  (attempt) => (attempt.call.mandate === undefined ? undefined : checkMandate(attempt)),
  argumentsGate,
  authorityGate,
  grantsGate,
  rightsGate,
  boundaryGate,
  contextGate,
  conditionsGate,
  effectGate,
  rulesGate,
  packRulesGate,
  invariantsGate,
  limitsGate,
  hostBudgetGate,
  approvalGate,
  inputGate,
  (attempt) => attempt.offer.safety && assess(attempt.offer.safety, attempt),
  runBudgetGate,
]

/** Undefined: the call may run. */
export async function passGates(attempt: Attempt): Promise<Refusal | undefined> {
  for (const gate of gates) {
    // The first two look for the capability, and need none.
    const found = gate(attempt as Resolved)
    const refusal = found instanceof Promise ? await found : found
    if (refusal !== undefined) return noteRefusal(attempt, refusal)
  }
  remember(attempt as Resolved)
  attempt.decision = 'allow'
  return undefined
}

/** The gate before all others, even before a recorded result. */
export const scopeGate = ({ capabilityId, caller }: Call): Refusal | undefined =>
  keyScope({ capabilityId, scopes: caller.scopes })

/** Puts on record which gate refused, and by what, unless a rule that did is there already. */
export function noteRefusal(attempt: Attempt, refusal: Refusal): Refusal {
  const { denial, outcome } = refusal
  const gate = gateNumbers[refusal.gate]
  const { decision, matched_rule: rule, reason = denial.code } = denial.details ?? {}
  attempt.decision = policyDecision.safeParse(decision).data ?? 'deny'
  const effect = outcome === 'skipped' ? 'skip' : attempt.decision
  attempt.policy ??= attempt.capability ? declaredState(attempt.capability, refusal) : null
  if (!attempt.basis.some((entry) => entry.gate === gate && entry.rule === rule))
    attempt.basis = [
      ...attempt.basis,
      { gate, rule: typeof rule === 'string' ? rule : `gate/${reason}`, effect, reads: [] },
    ]
  return refusal
}

/** Gates 1 and 2: which capability is meant, in which version. */
function versionGate(attempt: Attempt): GateAnswer {
  const { registry } = attempt.offer
  const found = resolveCapability(attempt.call, registry.versions(attempt.call.capabilityId))
  if ('refusal' in found) return found.refusal
  attempt.version = found.version
  attempt.capability = registry.get(attempt.call.capabilityId, found.version)
  return undefined
}

/** Gate 5: a mandate must be good, cover the capability and have uses left. It makes the delegate the subject. */
async function checkMandate(attempt: Resolved): Promise<Refusal | undefined> {
  const { deps, call } = attempt
  const revocations = await deps.store.read(() => revokedMandates(deps.tenant))
  const verified = verifyMandate(call.mandate, {
    at: deps.clock.now(),
    pins: attempt.offer.mandatePins,
    revocations,
    ...(call.caller.subject && { delegate: call.caller.subject.id }),
  })
  if (!verified.ok)
    return refuse('mandate', 'mandate_invalid', `the mandate is not good: ${verified.message}`, {
      check: verified.check,
    })
  const { mandate, subject } = verified.value
  if (!inScopes(mandate.scope, call.capabilityId))
    return deny('mandate', 'the mandate does not cover the capability', { reason: 'grant_missing' })
  attempt.subject = { ...subject, tenant: deps.tenant }
  const uses = usesOf(mandate)
  return uses.length === 0 ? undefined : checkLimits(attempt, uses)
}

/** Every mandate up the chain counts its own uses: two that were made of one share what it allows. */
function usesOf({ principal, mandate_id, max_invocations: max, parent }: Mandate): readonly Limit[] {
  const above = parent === undefined ? [] : usesOf(parent)
  return max === undefined ? above : [limitUses('mandate', callKey(principal.public_key, mandate_id), max), ...above]
}

function rightsGate({ offer, call, capability, subject }: Resolved): GateAnswer {
  const { permissions, revokedPermissions } = call.caller
  const { unverifiedActors } = offer
  const caller = { subject, actor: call.actor, ...(call.run && { agent: call.run.agent }) }
  return rights({ descriptor: capability.descriptor, caller, permissions, revokedPermissions, unverifiedActors })
}

function boundaryGate({ offer: { rules }, call, capability: { descriptor, lifecycle } }: Resolved): GateAnswer {
  const { payload, audience, correlation } = call
  return boundary({ rules, descriptor, lifecycle, payload, audience, environment: correlation.environment })
}

/** The context contract of the capability. Credentials are learnt first where values of the context go on record. */
function contextGate(attempt: Resolved): GateAnswer {
  const { contract, descriptor } = attempt.capability
  if (contract === undefined) return undefined
  const collected = (host: Record<string, Json>): Refusal | undefined => {
    const { payload, metadata, correlation } = attempt.call
    attempt.context = contract.collect({ payload, metadata, environment: correlation.environment, host })
    const refusal = context({ context: attempt.context })
    const isWrong = refusal?.denial.details?.['keyword'] !== undefined
    return isWrong ? sayMore(attempt, refusal, `: ${problemText(attempt.context.problems)}`) : refusal
  }
  const recordsValues = Object.values(contract.declared.fields).some(({ evidence }) => evidence === 'value')
  const handles = recordsValues ? Object.keys(descriptor.metadata?.credentials ?? {}) : []
  if (contract.resolvers.length + handles.length === 0) return collected({})
  return Promise.all(handles.map((name) => learnCredential(attempt, name)))
    .then(() => fetchFacts(attempt, contract.resolvers))
    .then(collected)
}

/** Known before anything is recorded: a call may bring the credential of its server as an argument. */
async function learnCredential({ deps, credentials }: Attempt, name: string): Promise<void> {
  const found = await deps.secret(`secret:${name}`).catch(() => undefined)
  if (found !== undefined) credentials.add(found.reveal())
}

/** A resolver that fails leaves its fact out: a call that needs it is told that evidence is missing. */
async function fetchFacts({ offer, call }: Attempt, names: readonly string[]): Promise<Record<string, Json>> {
  const { resolvers } = offer
  const fetch = async (name: string) => (Object.hasOwn(resolvers, name) ? resolvers[name]?.(call) : undefined)
  const found = await Promise.all(names.map((name) => fetch(name).catch(() => undefined)))
  return Object.fromEntries(names.flatMap((name, index) => (found[index] === undefined ? [] : [[name, found[index]]])))
}

function invariantsGate({ call, capability }: Resolved): GateAnswer {
  if (capability.mayNeedApproval && hasFraction(call.payload as Json)) return fraction('invariants')
  return invariants({ descriptor: capability.descriptor, payload: call.payload })
}

/** Gate 8, after its limits: a capability whose every call needs approval. */
function approvalGate(attempt: Resolved): GateAnswer {
  const { descriptor } = attempt.capability
  if (attempt.approval !== null || !requiresApproval(descriptor)) return undefined
  const rule = descriptor.policy?.approval_required === true ? 'declared/approval_required' : 'declared/tier'
  attempt.basis = [...attempt.basis, { gate: gateNumbers.approval, rule, effect: 'requires_approval', reads: [] }]
  return askPeople(attempt, { gate: 'approval', terms: [], rule })
}

// An evaluator that fails has not approved.
const unavailable: SafetyVerdict = { approved: false, level: 'critical', score: 1, guardrail: 'safety_unavailable' }

/** Gate 10: every call that got here is assessed, and the assessment is evidence, whatever it says. */
async function assess(safety: SafetyEvaluator, attempt: Attempt): Promise<Refusal | undefined> {
  attempt.events.push({ type: 'safety_assessment_started' })
  const asked = async () => safety(attempt.call)
  const { approved, level, score, guardrail: named = 'safety' } = await asked().catch(() => unavailable)
  attempt.events.push({ type: 'safety_assessment_completed', payload: { level, score: String(score), approved } })
  if (approved) {
    attempt.events.push({ type: 'safety_action_approved' })
    return undefined
  }
  const guardrail = scrubText(named, secretsOf(attempt))
  attempt.events.push(
    { type: 'safety_guardrail_triggered', payload: { guardrail } },
    { type: 'safety_action_blocked', payload: { guardrail } },
  )
  const details = { decision: 'deny', guardrail, level }
  return refuse('safety', 'safety_blocked', `the call was stopped by ${guardrail}`, details)
}
