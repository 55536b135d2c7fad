// What `import 'ambit/langchain'` gives, for LangChain (`@langchain/core`).

import type { DynamicStructuredToolInput, ToolRunnableConfig, ToolSchemaBase } from '@langchain/core/tools'
import { DynamicStructuredTool } from '@langchain/core/tools'
import type { CallCaller } from '../gateway/call.ts'
import { type BridgeOptions, type Door, openBridge } from './bridge.ts'

export type { BridgeOptions, Door } from './bridge.ts'

/**
 * Tools for `bindTools` and agents: what this principal may use, called through the gateway. The content of their
 * messages is text for the model, data in a fence or why there is none; the artifact is the whole result.
 */
export function toLangChainTools(door: Door, principal: CallCaller, options?: BridgeOptions): DynamicStructuredTool[] {
  const bridge = openBridge(door, principal, options)
  return bridge.tools.map((tool) =>
    checkedLater({
      name: tool.name,
      description: tool.description,
      schema: tool.inputSchema,
      responseFormat: 'content_and_artifact',
      func: async (input, _, config) => {
        const { toolCall, signal } = (config ?? {}) as ToolRunnableConfig
        const { text, result } = await bridge.call(tool, input, { toolCallId: toolCall?.id, signal })
        return [text, result]
      },
    }),
  )
}

/** A tool that shows its schema and leaves the check to the gateway, whose refusal is on record and is a result. */
function checkedLater(fields: DynamicStructuredToolInput): DynamicStructuredTool {
  const tool = new DynamicStructuredTool<ToolSchemaBase>(fields)
  const unchecked = new DynamicStructuredTool({ ...fields, schema: {} })
  tool.call = unchecked.call.bind(unchecked)
  return tool
}
