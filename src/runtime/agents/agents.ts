import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { isJsonObject } from '../../base/object.ts'
import type { OfferedCapability } from '../../compile/facts.ts'
import { type Capability, runCapability } from '../../gateway/capability.ts'
import type { JsonSchema } from '../../gateway/schema-like.ts'
import type { ProtectedBranch } from '../../grants/mint.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { ModelPrice } from '../../models/price.ts'
import { type Provider, readConfig } from '../../resources/define.ts'
import { agentToolId, declaredTools, registerAgents } from '../../runs/agents.ts'
import { resourcesOf } from '../../runs/definition.ts'
import type { Planner } from '../../runs/plan/planner.ts'
import type { Model, ToolDescription } from '../../runs/turn.ts'
import type { Agent } from './agent.ts'

/** The agents of a host, with what they work with. */
export type Agents = ReturnType<typeof openAgents>

export interface AgentsSpec {
  readonly agents: readonly Agent[]
  readonly providers: readonly Provider[]
  readonly models: Readonly<Record<string, Model>>
  /** What plans runs that context packs drive, beside the playbook. */
  readonly planners?: Readonly<Record<string, Model | Planner>>
  /** By id of the model, in cents per million tokens. */
  readonly prices: Readonly<Record<string, ModelPrice>>
  /** What the host offers besides. */
  readonly capabilities: readonly Capability[]
  /** Branches that only sufficiently deep grants may touch. */
  readonly protectedBranches?: readonly ProtectedBranch[]
}

/** Registers the agents of a host, all or none. */
export function openAgents(spec: AgentsSpec) {
  const { agents, providers, models, planners = {}, prices, capabilities, protectedBranches = [] } = spec
  const all = [...withNamed(agents)]
  const byKind = new Map(providers.map((provider) => [provider.kind, provider]))
  const hidden = providers.find((provider) => byKind.get(provider.kind) !== provider)
  if (hidden !== undefined) throw new Failure('config.invalid', `two providers of kind ${quote(hidden.kind)}`)
  const offered = [...new Set([...capabilities, ...all.flatMap((agent) => agent.capabilities)])]
  registerAgents(
    all.map(({ definition }) => definition),
    byKind,
    offered.map(({ descriptor }) => descriptor.id),
  )
  const made = [...resourceCapabilities(all, byKind), ...all.map(agentCapability)]
  const byId = new Map(all.map((agent) => [agent.definition.manifest.id, agent]))
  const descriptors = new Map([...offered, ...made].map(({ descriptor }) => [descriptor.id, descriptor]))
  const configs = new WeakMap<Agent, Promise<ReadonlyMap<string, unknown>>>()
  const providerOf = (kind: string): Provider => byKind.get(kind) ?? notFound(kind)
  const modelOf = ({ definition: { manifest }, model }: Agent): Model => {
    const name = 'model' in manifest ? (manifest.model ?? 'default') : 'default'
    const found = model ?? ownIn(models, name)
    if (found !== undefined) return found
    const help = 'give the agent a `model`, or list it under `models` in the configuration'
    throw new Failure('config.invalid', `agent ${quote(manifest.id)}: no model ${quote(name)}`, {}, help)
  }
  const priceOfModel = (id: string): ModelPrice | undefined => ownIn(prices, id)
  const readConfigs = async ({ definition }: Agent): Promise<ReadonlyMap<string, unknown>> => {
    const read = new Map<string, unknown>()
    for (const { name, kind, config } of resourcesOf(definition))
      read.set(name, await readConfig(providerOf(kind), config))
    return read
  }
  return {
    all,
    providers: byKind,
    protectedBranches,
    /** The agent, or `agent.not_found`. */
    get: (id: string): Agent => byId.get(id) ?? notFound(id),
    providerOf,
    /** Whether an agent may name it: a capability of the host, or an agent. */
    isRegistered: (capabilityId: string): boolean => descriptors.has(capabilityId),
    descriptorOf: (capabilityId: string): CapabilityDescriptor =>
      descriptors.get(capabilityId) ?? notFound(capabilityId),
    /** What a compile is told of a capability, as far as it was made already. */
    offered: new Map<string, Pick<OfferedCapability, 'digest' | 'tier'>>(),
    /** What models are shown of capabilities, as far as it was made already. */
    described: new Map<string, ToolDescription>(),
    modelOf,
    /** A configured planner, or the default model as `model`; undefined where it is not there. */
    plannerOf: (name: string): Model | Planner | undefined =>
      name === 'model' ? ownIn(models, 'default') : ownIn(planners, name),
    priceOfModel,
    priceOf: (agent: Agent): ModelPrice | undefined =>
      agent.definition.kind === 'llm' ? priceOfModel(modelOf(agent).id) : undefined,
    /** By resource, as the schemas of their providers hand them on; fails with `manifest.invalid`. */
    configsOf: (agent: Agent): Promise<ReadonlyMap<string, unknown>> => {
      const known = configs.get(agent) ?? readConfigs(agent)
      configs.set(agent, known)
      return known
    },
    /** What is offered because of them: their resource tools, and each of them as a capability. */
    capabilities: [...offered.slice(capabilities.length), ...made],
  }
}

const ownIn = <T>(named: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(named, name) ? named[name] : undefined

function notFound(id: string): never {
  throw new Failure('agent.not_found', `agent ${quote(id)} not found`, { id }, 'see `ambit agent list`')
}

/** Each agent once, with those that it names as objects. */
function withNamed(agents: readonly Agent[], found = new Set<Agent>()): ReadonlySet<Agent> {
  for (const agent of agents) if (!found.has(agent)) withNamed(agent.agents, found.add(agent))
  return found
}

/** The tools of every resource that an agent declares: the same name is the same kind in all agents. */
function resourceCapabilities(
  agents: readonly Agent[],
  providers: ReadonlyMap<string, Provider>,
): readonly Capability[] {
  const made = new Map<string, Capability>()
  for (const { capabilityId: id, resource, tool } of agents.flatMap(({ definition }) =>
    declaredTools(definition, providers),
  )) {
    const found = resource && providers.get(resource.kind)?.tools[tool]
    if (found === undefined || made.has(id)) continue
    const { description, input, effects } = found
    const spec = { id, version: '1.0.0', description, input: input.json, ...(effects && { effects }) }
    made.set(id, { ...runCapability(spec), input })
  }
  return [...made.values()]
}

/** An agent as a capability: a call of it starts a run below the one that calls. */
function agentCapability({ definition: { manifest }, input }: Agent): Capability {
  const { id, version, description = `Runs the agent ${id}.` } = manifest
  const schema = {
    type: 'object',
    // A step or trusted code hands on whatever there is.
    properties: {
      input: input ? placedBelow(input.json, '#/properties/input') : { description: 'What it is to work on.' },
    },
    required: ['input'],
    additionalProperties: false,
  }
  return runCapability({ id: agentToolId(id), version, description, input: schema })
}

/** A schema as it stands at a place in another: what it says of itself by its root means that place. */
function placedBelow(schema: JsonSchema, place: string): JsonSchema {
  if ('$id' in schema) return schema
  const moved = (value: Json, key = ''): Json => {
    if (key === '$ref' && typeof value === 'string') return value.replace(/^#(?=\/|$)/, place)
    if (Array.isArray(value)) return value.map((item: Json) => moved(item))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, moved(member ?? null, name)]))
  }
  return moved(schema as Json) as JsonSchema
}

export const noAgents: Agents = openAgents({ agents: [], providers: [], models: {}, prices: {}, capabilities: [] })
