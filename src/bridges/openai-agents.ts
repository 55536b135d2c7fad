// What `import 'ambit/openai-agents'` gives, for the OpenAI Agents SDK (`@openai/agents`).

import { type FunctionTool, tool as functionTool } from '@openai/agents'
import type { CallCaller } from '../gateway/call.ts'
import { type BridgeOptions, type Door, openBridge } from './bridge.ts'

export type { BridgeOptions, Door } from './bridge.ts'

/**
 * The `tools` of an `Agent`: what this principal may use, called through the gateway. They answer text for the model:
 * data in a fence, or why there is none.
 */
export function toOpenAIAgentsTools(door: Door, principal: CallCaller, options?: BridgeOptions): FunctionTool[] {
  const bridge = openBridge(door, principal, options)
  return bridge.tools.map((tool) =>
    functionTool({
      name: tool.name,
      description: tool.description,
      parameters: tool.inputSchema as never,
      // Strict schemas are a dialect; the gateway holds every payload against the whole one.
      strict: false,
      execute: async (input, _, details) => {
        const facts = { toolCallId: details?.toolCall?.callId, signal: details?.signal }
        return (await bridge.call(tool, input, facts)).text
      },
    }),
  )
}
