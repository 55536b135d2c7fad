import { Failure, quote } from '../../base/failure.ts'
import { type Capability, runCapability } from '../../gateway/capability.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { ModelPrice } from '../../models/price.ts'
import { type Provider, readConfig } from '../../resources/define.ts'
import { registerAgents } from '../../runs/agents.ts'
import type { AgentDefinition, DeclaredResource } from '../../runs/definition.ts'
import { agentToolId, resourceToolId } from '../../runs/names.ts'
import type { Model, ToolDescription } from '../../runs/turn.ts'
import type { Agent } from './agent.ts'

/** The agents of a host, with what they work with. */
export interface Agents {
  /** The agent, or `agent.not_found`. */
  get(id: string): Agent
  readonly all: readonly Agent[]
  readonly providers: ReadonlyMap<string, Provider>
  providerOf(kind: string): Provider
  /** Whether an agent may name it: a capability of the host, or an agent. */
  readonly isRegistered: (capabilityId: string) => boolean
  descriptorOf(capabilityId: string): CapabilityDescriptor
  /** What models are shown of tools, as far as it was made already. */
  readonly described: Map<string, ToolDescription>
  modelOf(agent: Agent): Model
  priceOf(agent: Agent): ModelPrice | undefined
  /** The config of a resource, as the schema of its provider hands it on; fails with `manifest.invalid`. */
  configOf(resource: DeclaredResource): Promise<unknown>
  /** Fails with `manifest.invalid` where the config of a resource is wrong. */
  checkConfigs(agent: Agent): Promise<void>
  /** What is offered because of them: their resource tools, and each of them as a capability. */
  readonly capabilities: readonly Capability[]
}

export interface AgentsSpec {
  readonly agents: readonly Agent[]
  readonly providers: readonly Provider[]
  readonly models: Readonly<Record<string, Model>>
  /** By id of the model, in cents per million tokens. */
  readonly prices: Readonly<Record<string, ModelPrice>>
  /** What the host offers besides. */
  readonly capabilities: readonly Capability[]
}

/** Registers the agents of a host, all or none. */
export function openAgents({ agents, providers, models, prices, capabilities }: AgentsSpec): Agents {
  const all = collect(agents)
  const byKind = new Map(providers.map((provider) => [provider.kind, provider]))
  const offered = [...new Set([...capabilities, ...all.flatMap((agent) => agent.capabilities)])]
  registerAgents(
    outermost(all),
    byKind,
    offered.map(({ descriptor }) => descriptor.id),
  )
  const configs = new WeakMap<DeclaredResource, Promise<unknown>>()
  const made = [...resourceCapabilities(all, byKind), ...all.map(agentCapability)]
  const byId = new Map(all.map((agent) => [agent.definition.manifest.id, agent]))
  const descriptors = new Map([...offered, ...made].map(({ descriptor }) => [descriptor.id, descriptor]))
  const modelOf = ({ definition: { manifest }, model }: Agent): Model => {
    const name = 'model' in manifest ? (manifest.model ?? 'default') : 'default'
    const found = model ?? (Object.hasOwn(models, name) ? models[name] : undefined)
    if (found !== undefined) return found
    const help = 'give the agent a `model`, or list it under `models` in the configuration'
    throw new Failure('config.invalid', `agent ${quote(manifest.id)}: no model ${quote(name)}`, {}, help)
  }
  const configOf: Agents['configOf'] = async (resource) => {
    const known =
      configs.get(resource) ?? readConfig(byKind.get(resource.kind) ?? notFound(resource.kind), asConfig(resource))
    configs.set(resource, known)
    return known
  }
  return {
    all,
    providers: byKind,
    get: (id) => byId.get(id) ?? notFound(id),
    providerOf: (kind) => byKind.get(kind) ?? notFound(kind),
    isRegistered: (id) => descriptors.has(id),
    descriptorOf: (id) => descriptors.get(id) ?? notFound(id),
    described: new Map(),
    modelOf,
    priceOf: (agent) => (agent.definition.kind === 'llm' ? prices[modelOf(agent).id] : undefined),
    configOf,
    checkConfigs: async ({ definition }) => {
      if (definition.kind === 'llm') for (const resource of definition.resources) await configOf(resource)
    },
    capabilities: [...offered.slice(capabilities.length), ...made],
  }
}

function notFound(id: string): never {
  throw new Failure('agent.not_found', `agent ${quote(id)} not found`, { id }, 'see `ambit agent list`')
}

/** Each agent once, with those that it names as objects. */
function collect(agents: readonly Agent[], found = new Map<string, Agent>()): readonly Agent[] {
  for (const agent of agents) {
    const { id } = agent.definition.manifest
    if (found.get(id) === agent) continue
    if (found.has(id)) throw new Failure('manifest.invalid', `agent ${quote(id)} stands twice`, { agent: id })
    found.set(id, agent)
    collect(agent.agents, found)
  }
  return [...found.values()]
}

/** Those that do not stand whole in a step of another: these are registered with that one. */
function outermost(all: readonly Agent[]): readonly AgentDefinition[] {
  const definitions = all.map(({ definition }) => definition)
  const inner = new Set(definitions.flatMap((each) => ('steps' in each ? each.steps.map(({ agent }) => agent) : [])))
  return definitions.filter((definition) => !inner.has(definition))
}

/** The tools of every resource that an agent declares: the same name is the same kind in all agents. */
function resourceCapabilities(
  agents: readonly Agent[],
  providers: ReadonlyMap<string, Provider>,
): readonly Capability[] {
  const declared = agents.flatMap(({ definition }) => (definition.kind === 'llm' ? definition.resources : []))
  const kinds = new Map(declared.map(({ name, kind }) => [name, kind]))
  return [...kinds].flatMap(([name, kind]) =>
    Object.entries(providers.get(kind)?.tools ?? {}).map(([tool, { description, input, effects }]) => {
      const spec = { id: resourceToolId(name, tool), version: '1.0.0', description, input: input.json }
      return { ...runCapability({ ...spec, ...(effects && { effects }) }), input }
    }),
  )
}

/** An agent as a capability: a call of it starts a run below the one that calls. */
function agentCapability({ definition: { manifest }, input }: Agent): Capability {
  const { id, version, description = `Runs the agent ${id}.` } = manifest
  const schema = {
    type: 'object',
    // A step or trusted code hands on whatever there is.
    properties: { input: input?.json ?? { description: 'What it is to work on.' } },
    required: ['input'],
    additionalProperties: false,
  }
  return runCapability({ id: agentToolId(id), version, description, input: schema })
}

const asConfig = ({ config }: DeclaredResource): Readonly<Record<string, unknown>> =>
  config === undefined ? {} : { config }

/** Of a host without any. */
export const noAgents: Agents = openAgents({ agents: [], providers: [], models: {}, prices: {}, capabilities: [] })
