import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { Pins } from '../../evidence/statements/statement.ts'
import type { Capability } from '../../gateway/capability.ts'
import type { Offer as GatewayOffer } from '../../gateway/deps.ts'
import { openRegistry, type Registry } from '../../gateway/registry.ts'
import type { Config } from '../../model/config/config.ts'
import type { Policy } from '../../model/policy.ts'
import { compileBudgets } from '../../policy/budgets.ts'
import { compilePolicies, type PolicySet } from '../../policy/policies.ts'
import { type Agents, noAgents } from '../agents/agents.ts'
import type { HostCode } from '../settings/user-config.ts'

export { type Capability, defineCapability } from '../../gateway/capability.ts'

type HostRules = Omit<NonNullable<Config['host']>, 'port' | 'hostname' | 'limits' | 'mandatePrincipals' | 'witnesses'>
type WithReadonlyLists<T> = {
  readonly [K in keyof T]: T[K] extends (infer Item)[] | undefined ? readonly Item[] | undefined : T[K]
}

/** What a host offers: the capabilities and rules of its configuration. */
export interface OfferSpec extends WithReadonlyLists<HostRules>, HostCode {
  readonly capabilities: readonly Capability[]
  /** What runs have is offered beside the capabilities. */
  readonly agents?: Agents
  readonly policies?: readonly Policy[]
  /** Public keys of the principals whose mandates are accepted; `any` only for a fixture. */
  readonly mandatePrincipals?: readonly string[] | 'any' | undefined
  /** Public keys of the witnesses whose statements are kept, from any sender; `any` only for a fixture. */
  readonly witnesses?: readonly string[] | 'any' | undefined
  readonly unverifiedActors?: 'refuse' | 'accept'
  /** Reserved beginnings of ids that may be used all the same. */
  readonly reserved?: readonly string[]
}

/** What is decided by, and the agents of the same moment. */
export interface Offer extends GatewayOffer {
  readonly agents: Agents
}

/** Reads the whole offer, or fails: a host never runs with half of its rules. */
export function makeOffer(hostId: string, spec: OfferSpec): Offer {
  const { agents = noAgents, policies = [], lifecycles } = spec
  const capabilities = [...spec.capabilities, ...agents.capabilities]
  const reserved = [...(spec.reserved ?? []), ...(agents === noAgents ? [] : ['agent.'])]
  const contracts = capabilities.map(({ descriptor }) => [descriptor.id, descriptor.metadata?.context ?? null] as const)
  const compiled = compilePolicies(policies, contracts)
  const registry = openRegistry(capabilities, {
    ...defined({ lifecycles, reserved }),
    asked: (id) => compiled.applicable(id).rules.some(({ decision }) => decision === 'requires_approval'),
  })
  checkResolvers(registry, spec.resolvers ?? {})
  return {
    agents,
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

/** Where a rule reads histories, or one that comes later may: classified data is remembered from the start. */
const isRemembered = ({ readsHistory }: PolicySet, capabilities: readonly Capability[]): boolean =>
  readsHistory || capabilities.some(({ descriptor }) => descriptor.policy?.data_classification !== undefined)

/** A fact without its resolver would be missing from every call. */
function checkResolvers(registry: Registry, resolvers: OfferSpec['resolvers'] & object): void {
  for (const { descriptor, contract } of registry.all()) {
    const missing = contract?.resolvers.find((name) => !Object.hasOwn(resolvers, name))
    if (missing === undefined) continue
    const message = `capability ${quote(descriptor.id)}: its context needs the resolver ${quote(missing)}, which is not there`
    throw new Failure('capability.invalid', message, { id: descriptor.id })
  }
}
