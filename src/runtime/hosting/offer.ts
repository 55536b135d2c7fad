import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { Pins } from '../../evidence/statements/statement.ts'
import type { Capability } from '../../gateway/capability.ts'
import type { Offer, Resolver, SafetyEvaluator } from '../../gateway/deps.ts'
import { openRegistry, type Registry } from '../../gateway/registry.ts'
import type { Lifecycle } from '../../model/capability.ts'
import type { Budget } from '../../model/config/budget.ts'
import type { BlockPattern } from '../../model/config/config.ts'
import type { Policy } from '../../model/policy.ts'
import { compileBudgets } from '../../policy/budgets.ts'
import { compilePolicies, type PolicySet } from '../../policy/policies.ts'
import type { Risk } from '../../policy/risk.ts'

export { type Capability, defineCapability } from '../../gateway/capability.ts'
export type { Offer } from '../../gateway/deps.ts'

/** What a host offers, as its configuration says it. */
export interface OfferSpec {
  readonly capabilities: readonly Capability[]
  readonly policies?: readonly Policy[]
  readonly lifecycles?: Readonly<Record<string, Lifecycle>>
  /** Capabilities that may run, when not all of them may. */
  readonly allow?: readonly string[]
  readonly block?: readonly string[]
  /** `critical` unless set: what is riskier is refused. */
  readonly maxRisk?: Risk
  readonly patterns?: readonly BlockPattern[]
  readonly environment?: string
  readonly resolvers?: Readonly<Record<string, Resolver>>
  readonly safety?: SafetyEvaluator
  /** Public keys of those whose mandates are believed; `any` only where a fixture needs it. */
  readonly mandatePrincipals?: readonly string[] | 'any'
  /** Public keys of those whose statements about heads are kept, whoever sends them; `any` only where a fixture needs it. */
  readonly witnesses?: readonly string[] | 'any'
  readonly unverifiedActors?: 'refuse' | 'accept'
  readonly strictOutput?: boolean
  /** `principal` unless set. */
  readonly history?: 'principal' | 'correlation'
  /** 24 unless set. */
  readonly historyHours?: number
  readonly budgets?: readonly Budget[]
  /** Reserved beginnings of ids that may be used all the same. */
  readonly reserved?: readonly string[]
}

/** Reads the whole offer, or refuses all of it: a host never runs with half of its rules. */
export function makeOffer(hostId: string, spec: OfferSpec): Offer {
  const { capabilities, policies = [], lifecycles, reserved } = spec
  const contracts = capabilities.map(({ descriptor }) => [descriptor.id, descriptor.metadata?.context ?? null] as const)
  const compiled = compilePolicies(policies, contracts)
  const registry = openRegistry(capabilities, {
    ...defined({ lifecycles, reserved }),
    asked: (id) => compiled.applicable(id).rules.some(({ decision }) => decision === 'requires_approval'),
  })
  checkResolvers(registry, spec.resolvers ?? {})
  return {
    registry,
    policies: compiled,
    rules: {
      hostId,
      blocked: spec.block ?? [],
      maxRisk: spec.maxRisk ?? 'critical',
      patterns: spec.patterns ?? [],
      ...defined({ allow: spec.allow, environment: spec.environment }),
    },
    resolvers: spec.resolvers ?? {},
    safety: spec.safety,
    mandatePins: pinsOf(spec.mandatePrincipals),
    witnessPins: pinsOf(spec.witnesses),
    unverifiedActors: spec.unverifiedActors ?? 'refuse',
    strictOutput: spec.strictOutput ?? false,
    history: spec.history ?? 'principal',
    historyMs: isRemembered(compiled, capabilities) ? (spec.historyHours ?? 24) * 3_600_000 : undefined,
    budgets: compileBudgets(
      spec.budgets ?? [],
      registry.all().map(({ descriptor }) => descriptor),
    ),
  }
}

const pinsOf = (keys: readonly string[] | 'any' = []): Pins => (keys === 'any' ? 'any' : new Set(keys))

/**
 * Whether histories are kept: where a rule reads them, and where a capability names the class of its data, so that a rule
 * that is added later knows what was read before it.
 */
const isRemembered = ({ readsHistory }: PolicySet, capabilities: readonly Capability[]): boolean =>
  readsHistory || capabilities.some(({ descriptor }) => descriptor.policy?.data_classification !== undefined)

/** A fact that nobody can fetch would be missing from every call. */
function checkResolvers(registry: Registry, resolvers: OfferSpec['resolvers'] & object): void {
  for (const { descriptor, contract } of registry.all()) {
    const missing = contract?.resolvers.find((name) => !Object.hasOwn(resolvers, name))
    if (missing === undefined) continue
    const message = `capability ${quote(descriptor.id)}: its context needs the resolver ${quote(missing)}, which is not there`
    throw new Failure('capability.invalid', message, { id: descriptor.id })
  }
}
