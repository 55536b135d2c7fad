import type { Json } from '../../base/canonical.ts'
import { policyDecision } from '../../model/evidence.ts'
import type { Contract } from '../../policy/contract.ts'
import { boundary } from '../../policy/gates/boundary.ts'
import { context } from '../../policy/gates/context.ts'
import { fraction, hasFraction, invariants } from '../../policy/gates/invariants.ts'
import { type GateName, gateNumbers, type Refusal } from '../../policy/gates/refusal.ts'
import { callMode, enabled, keyScope, resolveCapability } from '../../policy/gates/resolve.ts'
import { rights } from '../../policy/gates/rights.ts'
import { problemText } from '../../policy/schema/problems.ts'
import { askPeople } from '../approvals/ask.ts'
import { type Asked, type Attempt, sayMore } from '../attempt.ts'
import type { Call } from '../call.ts'
import type { GatewayDeps, Offer, Resolver } from '../deps.ts'
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

type Found = Refusal | undefined

/** A gate that may have to fetch a fact first. It notes in the attempt what it found out. */
interface Step {
  readonly name: GateName
  readonly check: (deps: GatewayDeps, offer: Offer, attempt: Attempt) => Promise<Found> | Found
}

/** The effect that a run asks for is on record already: the call ends with this result. */
interface Settled {
  readonly settled: Recorded
}

/** The order is the protocol's and everybody's: the first that fires decides, those after it leave no trace. */
const beforeSettled: readonly Step[] = [
  { name: 'surface', check: surfaceGate },
  { name: 'capability', check: (_, offer, attempt) => resolve(offer, attempt) },
  {
    name: 'enabled',
    check: (_, __, { capability }) =>
      enabled(capability === undefined ? { lifecycle: 'declared' } : standingOf(capability)),
  },
  {
    name: 'mode',
    check: (_, __, { call, capability }) =>
      capability && callMode({ mode: call.mode, descriptor: capability.descriptor }),
  },
  { name: 'mandate', check: mandateGate },
  { name: 'arguments', check: argumentsGate },
  { name: 'grants', check: grantsGate },
  { name: 'rights', check: (_, offer, attempt) => rightsGate(offer, attempt) },
  { name: 'policy', check: (_, offer, attempt) => boundaryGate(offer, attempt) },
  { name: 'policy', check: contextGate },
  { name: 'policy', check: rulesGate },
]

const afterSettled: readonly Step[] = [
  { name: 'invariants', check: (_, __, attempt) => invariantsGate(attempt) },
  { name: 'limits', check: limitsGate },
  { name: 'limits', check: hostBudgetGate },
  { name: 'approval', check: approvalGate },
  { name: 'input', check: inputGate },
  { name: 'safety', check: safetyGate },
  { name: 'budget', check: runBudgetGate },
]

/** Takes a call through the gates. Undefined: it may run, and the attempt says what is to be written with that. */
export async function passGates(deps: GatewayDeps, offer: Offer, attempt: Attempt): Promise<Found | Settled> {
  const refusal = await askGates(beforeSettled, deps, offer, attempt)
  if (refusal !== undefined) return refusal
  const settled = await findSettled(attempt)
  if (settled !== undefined) return { settled }
  const later = await askGates(afterSettled, deps, offer, attempt)
  if (later !== undefined) return later
  remember(deps, offer, attempt)
  attempt.decision = 'allow'
  return undefined
}

async function askGates(gates: readonly Step[], deps: GatewayDeps, offer: Offer, attempt: Attempt): Promise<Found> {
  for (const { check } of gates) {
    const found = check(deps, offer, attempt)
    const refusal = found instanceof Promise ? await found : found
    if (refusal !== undefined) return recordRefusal(attempt, refusal)
  }
  return undefined
}

/** Gate 6b, of a run: its effect may have happened under another call. */
const findSettled = ({ call, input }: Asked): Promise<Recorded | undefined> | Recorded | undefined =>
  call.run?.bounds?.settled?.({ capabilityId: call.capabilityId, invocationId: call.invocationId, input })

/** The gate before all others, even before a recorded result. */
export const scopeGate = ({ capabilityId, caller }: Call): Found => keyScope({ capabilityId, scopes: caller.scopes })

/** Puts on record which gate refused, and by what, unless a rule that did is there already. */
export function recordRefusal(attempt: Attempt, refusal: Refusal): Refusal {
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

function resolve({ registry }: Offer, attempt: Attempt): Found {
  const found = resolveCapability(attempt.call, registry.versions(attempt.call.capabilityId))
  if ('refusal' in found) return found.refusal
  attempt.version = found.version
  attempt.capability = registry.get(attempt.call.capabilityId, found.version)
  return undefined
}

function rightsGate({ unverifiedActors }: Offer, { call, capability, subject }: Asked): Found {
  if (capability === undefined) return undefined
  const { permissions, revokedPermissions } = call.caller
  return rights({
    descriptor: capability.descriptor,
    caller: { subject, actor: call.actor },
    permissions,
    revokedPermissions,
    unverifiedActors,
  })
}

function boundaryGate({ rules }: Offer, { call, capability }: Asked): Found {
  if (capability === undefined) return undefined
  const { descriptor, lifecycle } = capability
  const { payload, audience, correlation } = call
  return boundary({ rules, descriptor, lifecycle, payload, audience, environment: correlation.environment })
}

function contextGate(deps: GatewayDeps, { resolvers }: Offer, attempt: Attempt): Promise<Found> | Found {
  const contract = attempt.capability?.contract
  if (contract === undefined) return undefined
  const collected = (host: Record<string, Json>): Found => {
    attempt.context = collect(contract, attempt.call, host)
    const refusal = context({ context: attempt.context })
    const isWrong = refusal?.denial.details?.['keyword'] !== undefined
    return isWrong ? sayMore(attempt, refusal, `: ${problemText(attempt.context.problems)}`) : refusal
  }
  const recordsValues = Object.values(contract.declared.fields).some(({ evidence }) => evidence === 'value')
  const handles = recordsValues ? Object.keys(attempt.capability?.descriptor.metadata?.credentials ?? {}) : []
  if (contract.resolvers.length + handles.length === 0) return collected({})
  return Promise.all(handles.map((name) => learnCredential(deps, attempt, name)))
    .then(() => fetchFacts(resolvers, contract.resolvers, attempt.call))
    .then(collected)
}

/** Known before anything is recorded: a call may bring the credential of its server as an argument. */
async function learnCredential({ secret }: GatewayDeps, { credentials }: Asked, name: string): Promise<void> {
  const found = await secret(`secret:${name}`).catch(() => undefined)
  if (found !== undefined) credentials.add(found.reveal())
}

const collect = (contract: Contract, { payload, metadata, correlation }: Call, host: Record<string, Json>) =>
  contract.collect({ payload, metadata, environment: correlation.environment, host })

/** A resolver that fails leaves its fact out: a call that needs it is told that evidence is missing. */
async function fetchFacts(
  resolvers: Readonly<Record<string, Resolver>>,
  names: readonly string[],
  call: Call,
): Promise<Record<string, Json>> {
  const found = await Promise.all(
    names
      .map(async (name) => {
        const resolver = Object.hasOwn(resolvers, name) ? resolvers[name] : undefined
        return resolver?.(call)
      })
      .map((fact) => fact.catch(() => undefined)),
  )
  return Object.fromEntries(names.flatMap((name, index) => (found[index] === undefined ? [] : [[name, found[index]]])))
}

function invariantsGate({ call, capability }: Asked): Found {
  if (capability === undefined) return undefined
  if (capability.mayNeedApproval && hasFraction(call.payload as Json)) return fraction('invariants')
  return invariants({ descriptor: capability.descriptor, payload: call.payload })
}

/** Gate 8, after its limits: a capability whose every call needs approval. */
function approvalGate(deps: GatewayDeps, _: Offer, attempt: Attempt): Promise<Found> | Found {
  const descriptor = attempt.capability?.descriptor
  if (attempt.approval !== null || descriptor === undefined || !requiresApproval(descriptor)) return undefined
  const rule = descriptor.policy?.approval_required === true ? 'declared/approval_required' : 'declared/tier'
  attempt.basis = [...attempt.basis, { gate: gateNumbers.approval, rule, effect: 'requires_approval', reads: [] }]
  return askPeople(deps, attempt, { gate: 'approval', terms: [], rule })
}
