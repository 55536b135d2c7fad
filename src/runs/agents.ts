import { Failure, quote } from '../base/failure.ts'
import type { FailureCode } from '../base/failure-codes.ts'
import { limits } from '../base/limits.ts'
import type { ResourceMode } from '../grants/ceilings.ts'
import { type AgentDefinition, type DeclaredResource, resourcesOf, stepsOf } from './definition.ts'

/** What is to be known of a provider here. A tool is for `read` unless it says otherwise. */
export interface ProviderFacts {
  readonly kind: string
  readonly defaultMode?: ResourceMode
  readonly maxMode: ResourceMode
  readonly tools: Readonly<Record<string, { readonly mode?: ResourceMode }>>
}

/** By kind. */
export type Providers = ReadonlyMap<string, ProviderFacts>

/** A tool that an agent declares: a capability that it names, or a tool of one of its resources. */
export interface DeclaredTool {
  /** As the model knows it: the same in every run, order and mode. */
  readonly name: string
  /** The same tool for gateway, policy and evidence. */
  readonly capabilityId: string
  readonly resource?: DeclaredResource
  /** Its name at the provider of the resource, and what it needs there. */
  readonly tool: string
  readonly needs: ResourceMode
}

/** What a name becomes in front of a model: letters, digits and `_`. Different names may become the same. */
export const plainName = (name: string): string => name.replace(/[^A-Za-z0-9_]/g, '_')

/** An agent that other agents may call, as a capability. */
export const agentToolId = (agent: string): string => `agent.${agent}`

/** The agent that a capability id stands for, `''` if it stands for none. */
export const agentOf = (capabilityId: string): string => /^agent\.(.*)$/.exec(capabilityId)?.[1] ?? ''

/**
 * Takes the agents of a host with those that stand in steps, all or none: what they name exists, no two tools of an agent
 * have one name in front of its model, and a capability id means the same in all of them. A refusal names the agent, and
 * the resource and its kind. Answers all by their ids.
 */
export function registerAgents(
  agents: readonly AgentDefinition[],
  providers: Providers,
  capabilityIds: readonly string[],
): ReadonlyMap<string, AgentDefinition> {
  const byId = new Map<string, AgentDefinition>()
  const capabilities = new Set(capabilityIds)
  for (const definition of new Set(agents.flatMap(withInline))) {
    const { id } = definition.manifest
    if (byId.has(id)) throw refusal('manifest.invalid', id, undefined, 'another agent has this id')
    if (capabilities.has(agentToolId(id))) throw conflict(id, undefined, agentToolId(id))
    byId.set(id, definition)
  }
  const kinds = new Map<string, string>()
  for (const [agent, definition] of byId) {
    for (const id of [...namedTools(definition), ...stepsOf(definition).map((step) => agentToolId(step.agent))])
      if (!capabilities.has(id) && !byId.has(agentOf(id))) throw notFound(agent, id)
    for (const resource of resourcesOf(definition)) {
      checkResource(agent, resource, providerOf(agent, resource, providers))
      checkKind(agent, resource, kinds)
    }
    if (definition.kind === 'llm') checkToolNames(definition, providers, capabilities)
  }
  return byId
}

/** The provider of a resource; fails with `resource.unknown_kind` if there is none. */
export function providerOf(agent: string, resource: DeclaredResource, providers: Providers): ProviderFacts {
  const provider = providers.get(resource.kind)
  if (provider !== undefined) return provider
  const help = 'name it under `providers` in the configuration: `files({ root })` of `ambit`, or one of your own'
  throw refusal('resource.unknown_kind', agent, resource, `no provider for kind ${quote(resource.kind)}`, help)
}

/** All tools that an agent declares, those that it names first. */
export function declaredTools(agent: AgentDefinition, providers: Providers): readonly DeclaredTool[] {
  const named = namedTools(agent).map((id) => {
    return { name: plainName(id), capabilityId: id, tool: id, needs: 'read' } as const
  })
  const provided = resourcesOf(agent).flatMap((resource) =>
    Object.entries(providerOf(agent.manifest.id, resource, providers).tools).map(([tool, { mode = 'read' }]) => ({
      name: `${plainName(resource.name)}_${tool}`,
      capabilityId: `${resource.name}.${tool}`,
      ...{ resource, tool, needs: mode },
    })),
  )
  return [...named, ...provided]
}

/** The capabilities that a manifest names as tools of its agent, other agents (`agent.<id>`) among them. */
function namedTools({ kind, manifest }: AgentDefinition): readonly string[] {
  if ('tools' in manifest) return manifest.tools ?? []
  return kind === 'tool' && 'capability' in manifest && manifest.capability ? [manifest.capability] : []
}

const withInline = (agent: AgentDefinition): readonly AgentDefinition[] => [
  agent,
  ...stepsOf(agent).flatMap(({ inline }) => (inline === undefined ? [] : withInline(inline))),
]

/** Names that mean something else in front of a model, in policy or in evidence. */
const reserved = ['ambit', 'workspace', 'agent']

function checkResource(agent: string, resource: DeclaredResource, { maxMode, tools }: ProviderFacts): void {
  const { name, kind, mode, expose = [] } = resource
  if (reserved.includes(name.toLowerCase())) throw refusal('manifest.invalid', agent, resource, 'the name is reserved')
  if (mode === 'read-write' && maxMode === 'read')
    throw refusal('resource.mode_unsupported', agent, resource, `kind ${quote(kind)} is read only`)
  for (const tool of expose)
    if (!Object.hasOwn(tools, tool))
      throw refusal('manifest.invalid', agent, resource, `kind ${quote(kind)} has no tool ${quote(tool)}`)
}

/** A rule for `memory.read` must mean the same in all agents. */
function checkKind(agent: string, resource: DeclaredResource, kinds: Map<string, string>): void {
  const kind = kinds.get(resource.name) ?? resource.kind
  kinds.set(resource.name, kind)
  if (kind !== resource.kind)
    throw refusal('manifest.invalid', agent, resource, `another agent has it as kind ${quote(kind)}`)
}

type Named = Pick<DeclaredTool, 'name' | 'resource'>

function checkToolNames(agent: AgentDefinition, providers: Providers, capabilities: ReadonlySet<string>): void {
  const { id } = agent.manifest
  const tools = declaredTools(agent, providers)
  for (const { resource, capabilityId } of tools)
    if (resource !== undefined && capabilities.has(capabilityId)) throw conflict(id, resource, capabilityId)
  refuseTwice(
    id,
    resourcesOf(agent).map((resource) => ({ name: plainName(resource.name), resource })),
  )
  refuseTwice(id, tools)
}

function refuseTwice(agent: string, named: readonly Named[]): void {
  const taken = new Set<string>()
  for (const { name, resource } of named) {
    if (taken.has(name)) throw conflict(agent, resource, name)
    if (name.length > limits.toolNameCharsMax)
      throw refusal('manifest.invalid', agent, resource, `the tool name ${quote(name)} is too long`)
    taken.add(name)
  }
}

function refusal(
  code: FailureCode,
  agent: string,
  resource: DeclaredResource | undefined,
  message: string,
  help?: string,
): Failure {
  if (resource === undefined) return new Failure(code, `agent ${quote(agent)}: ${message}`, { agent })
  const { name, kind } = resource
  const text = `agent ${quote(agent)} resource ${quote(name)}: ${message}`
  return new Failure(code, text, { agent, resource: name, kind }, help)
}

const conflict = (agent: string, resource: DeclaredResource | undefined, tool: string): Failure =>
  refusal('resource.tool_conflict', agent, resource, `tool ${quote(tool)} exists twice`)

const notFound = (agent: string, id: string): Failure =>
  agentOf(id) === ''
    ? refusal('capability.not_found', agent, undefined, `capability ${quote(id)} not found`)
    : refusal('agent.not_found', agent, undefined, `agent ${quote(agentOf(id))} not found`)
