// What `import 'ambit/ai-sdk'` gives, for the AI SDK (`ai`).

import { type Tool as AITool, tool as aiTool, jsonSchema } from 'ai'
import type { CallCaller } from '../gateway/call.ts'
import { type BridgeOptions, type Door, openBridge } from './bridge.ts'

export type { BridgeOptions, Door } from './bridge.ts'
export { type FromAISDKTool, fromAISDKTool } from './from-ai-sdk.ts'

type Input = Record<string, unknown>

/**
 * The `tools` of `generateText`, `streamText` or an agent: what this principal may use, called through the gateway. They
 * answer text for the model: data in a fence, or why there is none.
 */
export function toAISDKTools(
  door: Door,
  principal: CallCaller,
  options?: BridgeOptions,
): Record<string, AITool<Input, string>> {
  const bridge = openBridge(door, principal, options)
  return Object.fromEntries(
    bridge.tools.map((tool) => [
      tool.name,
      aiTool<Input, string, Record<string, unknown>>({
        description: tool.description,
        inputSchema: jsonSchema<Input>(tool.inputSchema as Parameters<typeof jsonSchema>[0]),
        execute: async (input, { toolCallId, abortSignal }) =>
          (await bridge.call(tool, input, { toolCallId, signal: abortSignal })).text,
      }),
    ]),
  )
}
