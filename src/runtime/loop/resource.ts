import { formatTraceparent, type TraceParent } from '../../base/trace.ts'
import { CommitWith } from '../../gateway/capability.ts'
import type { RunTool as BoundTool } from '../../gateway/run.ts'
import type { ResourceMode } from '../../grants/ceilings.ts'
import { type BindFacts, runTool } from '../../resources/bind.ts'
import { demandRequired, type RunResource } from '../../runs/surface.ts'
import type { CallUnderWay } from './authority.ts'
import type { RunNode } from './tree.ts'

/** Fails for a run that lacks a resource which it requires: it is not begun, and one that is taken up ends. */
export function demandResources(node: RunNode): void {
  for (const resource of node.resolved.resources) demandRequired(resource, node.tree.authority.pathsFor(node, resource))
}

interface Asking {
  readonly grants: readonly string[]
  readonly toolCallId: string | null
  readonly signal: AbortSignal
  readonly place: TraceParent
}

/** What the provider of a resource is told, for a prompt or at one call. */
export async function factsFor(
  { tree, record, agent, resolved }: RunNode,
  resource: RunResource,
  { grants, toolCallId, signal, place }: Asking,
): Promise<BindFacts> {
  const { store, tenant, clock, ids } = tree.host.deps
  const config = (await resolved.agents.configsOf(agent)).get(resource.name)
  return {
    // Where it is `none`, nothing is asked of a provider.
    resource: { name: resource.name, mode: resource.effective as ResourceMode, config, grants },
    run: {
      runId: record.run_id,
      rootId: record.root_run_id,
      parentId: record.parent_run_id,
      agentId: record.agent_id,
      sessionId: record.session_id,
      tenantId: tenant,
      subject: record.subject,
      toolCallId,
      traceparent: formatTraceparent(place),
    },
    roots: tree.authority.roots(),
    ...{ signal, store, tenant, clock, ids },
  }
}

/** What stands behind a tool of a resource, for one call; undefined for a tool that belongs to none. */
export function bindTool(call: CallUnderWay): BoundTool | undefined {
  const { node, tool, span } = call
  if (tool?.resource === undefined) return undefined
  const { resource } = tool
  return {
    resource: { ...resource, mode: tool.needs },
    handler: async (input, { invocationId: toolCallId, signal }, grants) => {
      call.granted = grants
      const facts = await factsFor(node, resource, { grants, toolCallId, signal, place: span.place })
      const found = await runTool(node.resolved.agents.providerOf(resource.kind), tool.tool, input, facts)
      if (found.scopes.length > 0) span.set({ 'ambit.scopes': [...found.scopes] })
      return new CommitWith(found.data, found.change, found.scopes)
    },
  }
}
