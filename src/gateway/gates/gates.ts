import type { Json } from '../../base/canonical.ts'
import { policyDecision } from '../../model/evidence.ts'
import type { Contract } from '../../policy/contract.ts'
import { boundary } from '../../policy/gates/boundary.ts'
import { context } from '../../policy/gates/context.ts'
import { fraction, hasFraction, invariants } from '../../policy/gates/invariants.ts'
import type { Refusal } from '../../policy/gates/refusal.ts'
import { callMode, enabled, keyScope, resolveCapability } from '../../policy/gates/resolve.ts'
import { rights } from '../../policy/gates/rights.ts'
import { problemText } from '../../policy/schema/problems.ts'
import { askPeople } from '../approvals/ask.ts'
import { type Attempt, sayMore } from '../attempt.ts'
import type { Call } from '../call.ts'
import type { GatewayDeps, Offer, Resolver } from '../deps.ts'
import { limitsGate } from '../limits/action-limits.ts'
import { budgetGate } from '../limits/budgets.ts'
import { asksItself, standingOf } from '../registry.ts'
import { remember } from './history.ts'
import { inputGate } from './input.ts'
import { mandateGate } from './mandate.ts'
import { declaredState, rulesGate } from './rules.ts'
import { safetyGate } from './safety.ts'

type Found = Refusal | undefined

/** A gate that may have to fetch a fact first. It notes in the attempt what it found out. */
type Step = (deps: GatewayDeps, offer: Offer, attempt: Attempt) => Promise<Found> | Found

/** The order is the protocol's and everybody's: the first that fires decides, those after it leave no trace. */
const steps: readonly Step[] = [
  (_, offer, attempt) => resolve(offer, attempt),
  (_, __, { capability }) => enabled(capability === undefined ? { lifecycle: 'declared' } : standingOf(capability)),
  (_, __, { call, capability }) => capability && callMode({ mode: call.mode, descriptor: capability.descriptor }),
  mandateGate,
  (_, offer, attempt) => rightsGate(offer, attempt),
  (_, offer, attempt) => boundaryGate(offer, attempt),
  contextGate,
  rulesGate,
  (_, __, attempt) => invariantsGate(attempt),
  limitsGate,
  budgetGate,
  tierGate,
  inputGate,
  safetyGate,
  remember,
]

/** Takes a call through the gates. Undefined: it may run, and the attempt says what is to be written with that. */
export async function passGates(deps: GatewayDeps, offer: Offer, attempt: Attempt): Promise<Found> {
  for (const step of steps) {
    const found = step(deps, offer, attempt)
    const refusal = found instanceof Promise ? await found : found
    if (refusal !== undefined) return noted(attempt, refusal)
  }
  attempt.decision = 'allow'
  return undefined
}

/** The gate before all others, even before a recorded result. */
export const scopeGate = ({ capabilityId, caller }: Call): Found => keyScope({ capabilityId, scopes: caller.scopes })

/** Puts on record which gate refused, and by what, unless a rule that did is there already. */
export function noted(attempt: Attempt, refusal: Refusal): Refusal {
  const { gate, denial, outcome } = refusal
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
  const { capabilityId, version, range, mode } = attempt.call
  const found = resolveCapability({ capabilityId, version, range, mode, scopes: [] }, registry.versions(capabilityId))
  if ('refusal' in found) return found.refusal
  attempt.version = found.version
  attempt.capability = registry.get(capabilityId, found.version)
  return undefined
}

function rightsGate({ unverifiedActors }: Offer, { call, capability, subject }: Attempt): Found {
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

function boundaryGate({ rules }: Offer, { call, capability }: Attempt): Found {
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
async function learnCredential({ secret }: GatewayDeps, { credentials }: Attempt, name: string): Promise<void> {
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

function invariantsGate({ call, capability }: Attempt): Found {
  if (capability === undefined) return undefined
  if (capability.mayNeedApproval && hasFraction(call.payload as Json)) return fraction(7)
  return invariants({ descriptor: capability.descriptor, payload: call.payload })
}

/** Gate 8, after its limits: a capability that always needs a yes. */
function tierGate(deps: GatewayDeps, _: Offer, attempt: Attempt): Promise<Found> | Found {
  const descriptor = attempt.capability?.descriptor
  if (attempt.approval !== null || descriptor === undefined || !asksItself(descriptor)) return undefined
  const rule = descriptor.policy?.approval_required === true ? 'declared/approval_required' : 'declared/tier'
  attempt.basis = [...attempt.basis, { gate: 8, rule, effect: 'requires_approval', reads: [] }]
  return askPeople(deps, attempt, { gate: 8, terms: [], rule })
}
