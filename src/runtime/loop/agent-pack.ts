import type { Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import { type ReadyPacks, readyPacks } from '../../compile/compile.ts'
import type { OfferedCapability } from '../../compile/facts.ts'
import { hostTier, resourceWriteTier } from '../../compile/tiers.ts'
import { agentPack } from '../../runs/agent-pack.ts'
import type { LlmDefinition } from '../../runs/definition.ts'
import { renderInstruction } from '../../runs/prompt.ts'
import type { RunTool } from '../../runs/surface.ts'
import type { Agent } from '../agents/agent.ts'
import type { Agents } from '../agents/agents.ts'
import type { RunNode } from './tree.ts'

/** The pack of an agent for this run, with its rules compiled. Most instructions are the same in every run. */
export function packOf({ agent, record, resolved }: RunNode): ReadyPacks {
  const definition = agent.definition as LlmDefinition
  const instruction = renderInstruction(definition, record.input)
  const known = made.get(agent)
  if (known?.instruction === instruction && known.tenant === record.tenant_id) return known.ready
  const capabilityIds = resolved.tools.map(({ capabilityId }) => capabilityId)
  const ready = readyPacks([agentPack(definition, { tenant: record.tenant_id, instruction, capabilityIds })])
  made.set(agent, { instruction, tenant: record.tenant_id, ready })
  return ready
}

const made = new WeakMap<Agent, { readonly instruction: string; readonly tenant: string; readonly ready: ReadyPacks }>()

/** The tools of the agent as its compile is told of them, with why one is missing. */
export const offeredTools = ({ resolved: { agents, tools } }: RunNode): readonly OfferedCapability[] =>
  tools.map((tool) => {
    const { capabilityId: capability_id, name, hidden } = tool
    return { capability_id, tool: name, available: true, hidden, ...descriptionOf(agents, tool) }
  })

function descriptionOf(agents: Agents, { capabilityId, needs, hidden }: RunTool) {
  const known = agents.offered.get(capabilityId)
  if (known !== undefined) return known
  if (hidden === 'not_registered') return { digest: '', tier: resourceWriteTier() }
  const descriptor = agents.descriptorOf(capabilityId)
  const offered = {
    digest: objectHash(descriptor as unknown as Json),
    tier: needs === 'read-write' ? resourceWriteTier() : hostTier(descriptor),
  }
  agents.offered.set(capabilityId, offered)
  return offered
}
