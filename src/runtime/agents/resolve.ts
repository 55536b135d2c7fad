import type { Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import type { CallRun, Surface } from '../../gateway/run.ts'
import { toolsOf } from '../../gateway/tools/tools.ts'
import type { RunRecord } from '../../model/run.ts'
import { type RunAuthority, type RunTool, resolveSurface } from '../../runs/surface.ts'
import type { ToolDescription } from '../../runs/turn.ts'
import type { Agent } from './agent.ts'
import type { Agents } from './agents.ts'

/** What one run may see and do: its agent under its grants and ceilings. */
export interface ResolvedAgent extends RunAuthority {
  readonly agents: Agents
  /** What its model is shown. */
  readonly shown: readonly ToolDescription[]
  /** By the names that its model may use: of what is hidden among it the gates say why it is refused. */
  readonly callable: ReadonlyMap<string, RunTool>
  /** The same by their ids. */
  readonly capabilityIds: Surface
  /** What evidence says of the run at each call. */
  readonly entry: CallRun['entry']
}

export function resolveAgent(agents: Agents, agent: Agent, record: RunRecord, seed: Uint8Array): ResolvedAgent {
  const { ceilings, grants } = record
  const { providers, isRegistered } = agents
  const authority = resolveSurface({ agent: agent.definition, ceilings, grants, providers, isRegistered })
  const { tools, surface } = authority
  const callable = tools.filter(({ hidden }) => hidden !== 'not_exposed' && hidden !== 'not_registered')
  return {
    ...authority,
    agents,
    shown: tools.filter(({ hidden }) => hidden === undefined).map((tool) => describe(agents, tool, seed)),
    callable: new Map(callable.map((tool) => [tool.name, tool])),
    capabilityIds: new Set(callable.map(({ capabilityId }) => capabilityId)),
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
      surface: objectHash(surface as unknown as Json) as `sha256:${string}`,
    },
  }
}

/** What a model is shown of a tool. What others wrote of it stands in a fence of the run: all else is the same for all runs. */
function describe(agents: Agents, { name, capabilityId }: RunTool, seed: Uint8Array): ToolDescription {
  const known = agents.described.get(capabilityId)
  if (known !== undefined) return known
  const descriptor = agents.descriptorOf(capabilityId)
  const [tool] = toolsOf([descriptor], { seed })
  const { description = '', inputSchema = { type: 'object' } } = tool ?? {}
  const made = { name, description, inputSchema: inputSchema as ToolDescription['inputSchema'] }
  if (descriptor.metadata?.origin === undefined) agents.described.set(capabilityId, made)
  return made
}
