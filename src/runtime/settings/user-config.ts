import type { Capability } from '../../gateway/capability.ts'
import type { Resolver, SafetyEvaluator } from '../../gateway/deps.ts'
import type { Config } from '../../model/config/config.ts'
import type { Policy } from '../../model/policy.ts'
import type { Provider } from '../../resources/define.ts'
import type { Agent } from '../agents/agent.ts'

/** What only code can say of a host. */
export interface HostCode {
  readonly resolvers?: Readonly<Record<string, Resolver>>
  readonly safety?: SafetyEvaluator
}

/** A configuration as `ambit.config.ts` writes it: what JSON can say, and code. */
export type AmbitConfig = Omit<Config, 'host' | 'agents'> & {
  readonly capabilities?: readonly Capability[]
  /** Agents as objects, or as the paths of manifests and of folders of them. */
  readonly agents?: readonly (Agent | string)[]
  /** What stands behind resources, beside memory, scratchpad and, where packs are configured, knowledge. */
  readonly providers?: readonly Provider[]
  /** Models by the names that manifests use; `default` is for agents that name none. */
  readonly models?: Readonly<Record<string, unknown>>
  /** What plans runs that context packs drive, by the names that `run_context.planner` takes: planners, or models. */
  readonly planners?: Readonly<Record<string, unknown>>
  readonly host?: Config['host'] & HostCode
}

/** The same configuration: for its types alone. */
export const defineConfig = (config: AmbitConfig): AmbitConfig => config

/** The same policy: for its types alone. It is checked when the configuration is read. */
export const definePolicy = (policy: Policy): Policy => policy
