import type { Json } from '../../base/canonical.ts'
import { policyDecision } from '../../model/evidence.ts'
import { boundary } from '../../policy/gates/boundary.ts'
import { context } from '../../policy/gates/context.ts'
import { fraction, hasFraction, invariants } from '../../policy/gates/invariants.ts'
import { gateNumbers, type Refusal } from '../../policy/gates/refusal.ts'
import { callMode, enabled, keyScope, resolveCapability } from '../../policy/gates/resolve.ts'
import { rights } from '../../policy/gates/rights.ts'
import { problemText } from '../../policy/schema/problems.ts'
import { askPeople } from '../approvals/ask.ts'
import { type Attempt, type GateAnswer, type Resolved, sayMore } from '../attempt.ts'
import type { Call } from '../call.ts'
import { hostBudgetGate, runBudgetGate } from '../limits/budgets.ts'
import { limitsGate } from '../limits/limits.ts'
import { requiresApproval, standingOf } from '../registry.ts'
import type { Recorded } from '../results.ts'
import { remember } from './history.ts'
import { argumentsGate, inputGate } from './input.ts'
import { mandateGate } from './mandate.ts'
import { declaredState, rulesGate } from './rules.ts'
import { grantsGate, surfaceGate } from './run.ts'
import { safetyGate } from './safety.ts'

/** A gate notes in the attempt what it found out. */
type Gate = (attempt: Resolved) => GateAnswer

/** The effect that a run asks for is on record already: the call ends with this result. */
interface Settled {
  readonly settled: Recorded
}

/** The order is the protocol's and everybody's: the first that fires decides, those after it leave no trace. */
const beforeSettled: readonly Gate[] = [
  surfaceGate,
  versionGate,
  ({ capability }) => enabled(standingOf(capability)),
  ({ call, capability }) => callMode({ mode: call.mode, descriptor: capability.descriptor }),
  mandateGate,
  argumentsGate,
  grantsGate,
  rightsGate,
  boundaryGate,
  contextGate,
  rulesGate,
]

const afterSettled: readonly Gate[] = [
  invariantsGate,
  limitsGate,
  hostBudgetGate,
  approvalGate,
  inputGate,
  safetyGate,
  runBudgetGate,
]

/** Takes a call through the gates. Undefined: it may run, and the attempt says what is to be written with that. */
export async function passGates(attempt: Attempt): Promise<Refusal | Settled | undefined> {
  const refusal = await askGates(beforeSettled, attempt)
  if (refusal !== undefined) return refusal
  // Gate 6b, of a run: its effect may have happened under another call.
  const { call, input } = attempt
  const { capabilityId, invocationId } = call
  const settled = await call.run?.bounds?.settled?.({ capabilityId, invocationId, input })
  if (settled !== undefined) return { settled }
  const later = await askGates(afterSettled, attempt)
  if (later !== undefined) return later
  remember(attempt as Resolved)
  attempt.decision = 'allow'
  return undefined
}

async function askGates(gates: readonly Gate[], attempt: Attempt): Promise<Refusal | undefined> {
  for (const gate of gates) {
    // The first two look for the capability, and need none.
    const found = gate(attempt as Resolved)
    const refusal = found instanceof Promise ? await found : found
    if (refusal !== undefined) return noteRefusal(attempt, refusal)
  }
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
  attempt.policy ??= attempt.capability ? declaredState(attempt.capability, refusal) : null
  if (!attempt.basis.some((entry) => entry.gate === gate && entry.rule === rule))
    attempt.basis = [
      ...attempt.basis,
      {
        gate,
        rule: typeof rule === 'string' ? rule : `gate/${reason}`,
        effect: outcome === 'skipped' ? 'skip' : attempt.decision,
        reads: [],
      },
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

function rightsGate({ offer, call, capability, subject }: Resolved): GateAnswer {
  const { permissions, revokedPermissions } = call.caller
  const { unverifiedActors } = offer
  const caller = { subject, actor: call.actor }
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
