import { Failure, quote } from '../base/failure.ts'
import type { FailureCode } from '../base/failure-codes.ts'
import { limits } from '../base/limits.ts'
import type { ResourceMode } from '../grants/ceilings.ts'
import type { AgentDefinition, DeclaredResource, LlmDefinition } from './definition.ts'
import { agentOf, agentToolId, plainName, resourceToolId, resourceToolName } from './names.ts'

/** What is to be known of a provider here. A tool is for `read` unless it says otherwise. */
export interface ProviderFacts {
  readonly kind: string
  readonly defaultMode?: ResourceMode
  readonly maxMode: ResourceMode
  readonly tools: Readonly<Record<string, { readonly mode?: ResourceMode }>>
}

/** By kind. */
export type Providers = ReadonlyMap<string, ProviderFacts>

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
    for (const id of [...namedTools(definition), ...childTools(definition)])
      if (!capabilities.has(id) && !byId.has(agentOf(id))) throw notFound(agent, id)
    if (definition.kind !== 'llm') continue
    for (const resource of definition.resources) {
      checkResource(agent, resource, providerOf(agent, resource, providers), capabilities)
      checkKind(agent, resource, kinds)
    }
    checkToolNames(agent, definition, providers)
  }
  return byId
}

/** The provider of a resource; fails with `resource.unknown_kind` if there is none. */
export function providerOf(agent: string, resource: DeclaredResource, providers: Providers): ProviderFacts {
  const provider = providers.get(resource.kind)
  if (provider !== undefined) return provider
  throw refusal('resource.unknown_kind', agent, resource, `no provider for kind ${quote(resource.kind)}`)
}

/** The capabilities that a manifest names as tools of its agent, other agents (`agent.<id>`) among them. */
export function namedTools(definition: AgentDefinition): readonly string[] {
  if (definition.kind === 'llm') return definition.manifest.tools ?? []
  return definition.kind === 'tool' && definition.manifest.capability ? [definition.manifest.capability] : []
}

const children = (definition: AgentDefinition) =>
  'steps' in definition ? definition.steps.map(({ agent }) => agent) : []

const childTools = (definition: AgentDefinition): readonly string[] =>
  children(definition).flatMap((agent) => (typeof agent === 'string' ? agentToolId(agent) : []))

const withInline = (definition: AgentDefinition): readonly AgentDefinition[] => [
  definition,
  ...children(definition).flatMap((agent) => (typeof agent === 'string' ? [] : withInline(agent))),
]

/** Names that mean something else in front of a model, in policy or in evidence. */
const reserved = ['ambit', 'workspace', 'agent']

function checkResource(
  agent: string,
  resource: DeclaredResource,
  { maxMode, tools }: ProviderFacts,
  capabilities: ReadonlySet<string>,
): void {
  const { name, kind, mode, expose = [] } = resource
  if (reserved.includes(name.toLowerCase())) throw refusal('manifest.invalid', agent, resource, 'the name is reserved')
  if (mode === 'read-write' && maxMode === 'read')
    throw refusal('resource.mode_unsupported', agent, resource, `kind ${quote(kind)} is read only`)
  for (const tool of expose)
    if (!Object.hasOwn(tools, tool))
      throw refusal('manifest.invalid', agent, resource, `kind ${quote(kind)} has no tool ${quote(tool)}`)
  for (const id of Object.keys(tools).map((tool) => resourceToolId(name, tool)))
    if (capabilities.has(id)) throw conflict(agent, resource, id)
}

/** A rule for `memory.read` must mean the same in all agents. */
function checkKind(agent: string, resource: DeclaredResource, kinds: Map<string, string>): void {
  const kind = kinds.get(resource.name) ?? resource.kind
  kinds.set(resource.name, kind)
  if (kind !== resource.kind)
    throw refusal('manifest.invalid', agent, resource, `another agent has it as kind ${quote(kind)}`)
}

type Named = readonly [name: string, resource?: DeclaredResource]

function checkToolNames(agent: string, { manifest, resources }: LlmDefinition, providers: Providers): void {
  const named = (manifest.tools ?? []).map((id): Named => [plainName(id)])
  const provided = resources.flatMap((resource) =>
    Object.keys(providerOf(agent, resource, providers).tools).map(
      (tool): Named => [resourceToolName(resource.name, tool), resource],
    ),
  )
  const prefixes = resources.map((resource): Named => [plainName(resource.name), resource])
  for (const names of [prefixes, [...named, ...provided]]) refuseTwice(agent, names)
}

function refuseTwice(agent: string, names: readonly Named[]): void {
  const taken = new Set<string>()
  for (const [name, resource] of names) {
    if (taken.has(name)) throw conflict(agent, resource, name)
    if (name.length > limits.toolNameCharsMax)
      throw refusal('manifest.invalid', agent, resource, `the tool name ${quote(name)} is too long`)
    taken.add(name)
  }
}

function refusal(code: FailureCode, agent: string, resource: DeclaredResource | undefined, message: string): Failure {
  if (resource === undefined) return new Failure(code, `agent ${quote(agent)}: ${message}`, { agent })
  const { name, kind } = resource
  return new Failure(code, `agent ${quote(agent)} resource ${quote(name)}: ${message}`, { agent, resource: name, kind })
}

const conflict = (agent: string, resource: DeclaredResource | undefined, tool: string): Failure =>
  refusal('resource.tool_conflict', agent, resource, `tool ${quote(tool)} exists twice`)

const notFound = (agent: string, id: string): Failure =>
  agentOf(id) === ''
    ? refusal('capability.not_found', agent, undefined, `capability ${quote(id)} not found`)
    : refusal('agent.not_found', agent, undefined, `agent ${quote(agentOf(id))} not found`)
