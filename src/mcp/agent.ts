import type { CallToolRequest, CallToolResult, Tool } from '@modelcontextprotocol/server'
import { canonical, type Json } from '../base/canonical.ts'
import { fenceText } from '../runtime/hosting/tools.ts'
import type { McpDoor } from './door.ts'
import { toolNamed } from './tools.ts'

const name = 'invoke_agent'

/** The tool that puts a request to an agent, for those who may. A capability of that name keeps it. */
export async function listedAgent(door: McpDoor): Promise<readonly Tool[]> {
  const agent = await agentOf(door, name)
  if (agent === undefined) return []
  const { description, inputSchema } = agent
  return [{ name, description, inputSchema: inputSchema as Tool['inputSchema'] }]
}

/** Puts a request to an agent, and answers how its run stands with its decision record, as data. */
export async function callAgent(door: McpDoor, params: CallToolRequest['params']): Promise<CallToolResult | undefined> {
  const agent = await agentOf(door, params.name)
  if (agent === undefined) return undefined
  const answer = await agent.invoke(params.arguments ?? {})
  const text = canonical(answer as unknown as Json)
  return {
    content: [{ type: 'text', text: fenceText(name, text, door.host.secretFor('fence')) }],
    _meta: { 'ambit/correlation_id': answer.run_id },
  }
}

const agentOf = async ({ host, agent }: McpDoor, named: string) =>
  named === name && toolNamed(host, name) === undefined ? agent?.() : undefined
