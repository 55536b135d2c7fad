import type { Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import { formatTraceparent } from '../../base/trace.ts'
import { CommitWith } from '../../gateway/capability.ts'
import { type CallRun, grantedPaths, type RunTool, type Surface } from '../../gateway/run.ts'
import { toolsOf } from '../../gateway/tools/tools.ts'
import type { Ceiling, Ceilings, ResourceMode } from '../../grants/ceilings.ts'
import type { RunRecord, RunSurface } from '../../model/run.ts'
import type { ModelPrice } from '../../models/price.ts'
import { type BindFacts, runTool } from '../../resources/bind.ts'
import type { Provider } from '../../resources/define.ts'
import type { DeclaredResource } from '../../runs/definition.ts'
import { agentToolId } from '../../runs/names.ts'
import { type RunResource, resolveSurface } from '../../runs/surface.ts'
import type { Model, ToolDescription } from '../../runs/turn.ts'
import type { RunNode } from '../loop/tree.ts'
import type { Agent } from './agent.ts'
import type { Agents } from './agents.ts'

/** What one run may see and do: its agent under its grants and ceilings. */
export interface ResolvedAgent {
  readonly surface: RunSurface
  readonly modes: Readonly<Record<string, Ceiling>>
  /** What its children may hold. */
  readonly handedOn: Ceilings
  /** What its model is shown. */
  readonly tools: readonly ToolDescription[]
  /** What the gateway lets the run ask for: of what is hidden the gates say why it is refused. */
  readonly capabilityIds: Surface
  readonly capabilityOf: (tool: string) => string | undefined
  readonly agentOf: (tool: string) => string | undefined
  readonly runTools: (node: RunNode) => ReadonlyMap<string, RunTool>
  readonly entry: CallRun['entry']
  readonly model: () => Model
  readonly price: ModelPrice | undefined
  readonly resources: readonly BoundResource[]
}

export interface BoundResource extends RunResource {
  readonly provider: Provider
  /** What its provider is told now. */
  readonly facts: (
    node: RunNode,
    call?: { readonly grants?: readonly string[]; readonly toolCallId?: string; readonly signal?: AbortSignal },
  ) => Promise<BindFacts>
}

export function resolveAgent(agents: Agents, agent: Agent, record: RunRecord, seed: Uint8Array): ResolvedAgent {
  const { ceilings, grants } = record
  const { providers, isRegistered } = agents
  const authority = resolveSurface({ agent: agent.definition, ceilings, grants, providers, isRegistered })
  const resources = authority.resources.map((resource) =>
    bindResource(resource, declaredIn(agent, resource.name), agents),
  )
  const known = new Map(
    authority.tools
      .filter(({ hidden }) => hidden !== 'not_exposed' && hidden !== 'not_registered')
      .map((tool) => [tool.name, tool.capabilityId]),
  )
  const asAgent = (tool: string): string | undefined => {
    const id = known.get(tool)
    return id?.startsWith(agentToolId('')) ? id.slice(agentToolId('').length) : undefined
  }
  const shown = authority.tools.filter(({ hidden }) => hidden === undefined)
  return {
    surface: authority.surface,
    modes: authority.modes,
    handedOn: authority.ceilingsBelow,
    resources,
    tools: shown.map(({ name, capabilityId }) => describe(agents, name, capabilityId, seed)),
    capabilityIds: new Set(known.values()),
    capabilityOf: (tool) => known.get(tool),
    agentOf: asAgent,
    runTools: toolsFor(resources),
    entry: {
      run_id: record.run_id,
      tool_call_id: null,
      policy_decision_id: null,
      approval_mode_effective: null,
      grants: grants.map(({ path }) => path),
      ceilings: { ...ceilings },
      provider: null,
      mode: null,
      scopes: [],
      surface: objectHash(authority.surface as unknown as Json) as `sha256:${string}`,
    },
    model: () => agents.modelOf(agent),
    price: agents.priceOf(agent),
  }
}

/** What a model is shown of a tool. What others wrote of it stands in a fence of the run: all else is the same for all runs. */
function describe(agents: Agents, name: string, capabilityId: string, seed: Uint8Array): ToolDescription {
  const known = agents.described.get(name)
  if (known !== undefined) return known
  const descriptor = agents.descriptorOf(capabilityId)
  const [tool] = toolsOf([descriptor], { seed })
  const { description = '', inputSchema = { type: 'object' } } = tool ?? {}
  const made = { name, description, inputSchema: inputSchema as ToolDescription['inputSchema'] }
  if (descriptor.metadata?.origin === undefined) agents.described.set(name, made)
  return made
}

const declaredIn = ({ definition }: Agent, name: string): DeclaredResource | undefined =>
  definition.kind === 'llm' ? definition.resources.find((each) => each.name === name) : undefined

function bindResource(resource: RunResource, declared: DeclaredResource | undefined, agents: Agents): BoundResource {
  const config = (): Promise<unknown> => agents.configOf(declared ?? resource)
  return {
    ...resource,
    provider: agents.providerOf(resource.kind),
    facts: async (node, { grants, toolCallId = null, signal = node.ending.signal } = {}) => {
      const live =
        grants ??
        grantedPaths(await node.tree.authority.liveGrants(node, node.tree.host.deps.clock.now()), resource.branches)
      const told = {
        name: resource.name,
        mode: resource.effective as ResourceMode,
        config: await config(),
        grants: live,
      }
      return { resource: told, ...factsOf(node, toolCallId), signal }
    },
  }
}

function factsOf({ tree, record, span }: RunNode, toolCallId: string | null): Omit<BindFacts, 'resource' | 'signal'> {
  const { store, tenant, clock, ids } = tree.host.deps
  return {
    run: {
      runId: record.run_id,
      rootId: record.root_run_id,
      parentId: record.parent_run_id,
      agentId: record.agent_id,
      sessionId: record.session_id,
      tenantId: tenant,
      subject: record.subject,
      toolCallId,
      traceparent: formatTraceparent(tree.authority.callUnderWay(toolCallId ?? '')?.place ?? span.place),
    },
    roots: tree.authority.roots(),
    store,
    tenant,
    clock,
    ids,
  }
}

/** The tools of resources, each bound to the run that calls it. */
const toolsFor =
  (resources: readonly BoundResource[]) =>
  (node: RunNode): ReadonlyMap<string, RunTool> =>
    new Map(
      resources.flatMap((resource) =>
        resource.tools.map(
          ({ capabilityId, tool, needs }) => [capabilityId, toolOf(node, resource, tool, needs)] as const,
        ),
      ),
    )

const toolOf = (node: RunNode, resource: BoundResource, tool: string, needs: ResourceMode): RunTool => ({
  resource: {
    ...{
      name: resource.name,
      kind: resource.kind,
      mode: needs,
      effective: resource.effective,
      isCeiling: resource.isCeiling,
    },
    branches: resource.branches,
  },
  handler: async (input, call, grants) => {
    const facts = await resource.facts(node, { grants, toolCallId: call.invocationId, signal: call.signal })
    const { data, scopes, change } = await runTool(resource.provider, tool, input, facts)
    const under = node.tree.authority.callUnderWay(call.invocationId)
    if (under !== undefined) under.scopes = scopes
    return new CommitWith(data, change, scopes)
  },
})
