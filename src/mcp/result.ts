import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import { isSpecType } from '@modelcontextprotocol/server'
import type { Json } from '../base/canonical.ts'
import type { InvocationResult } from '../model/result.ts'
import { fenceText, resultText, type Tool } from '../runtime/tools.ts'
import type { McpDoor } from './door.ts'

/** A result as a client of MCP reads it: text for its model, fenced; structure for its program; ids for its records. */
export function answered(
  { host, fenced = true }: McpDoor,
  tool: Tool | undefined,
  result: InvocationResult,
): CallToolResult {
  const { invocation_id, correlation, outcome, success, denial, error, replayed } = result
  const seed = host.secretFor('fence')
  const _meta = {
    'ambit/invocation_id': invocation_id,
    'ambit/correlation_id': correlation.correlation_id,
    'ambit/outcome': outcome,
    ...((denial ?? error) && { 'ambit/code': denial?.code ?? error?.code ?? null }),
    ...(replayed && { 'ambit/replayed': true }),
  }
  if (!success || tool === undefined)
    return { content: [{ type: 'text', text: resultText(result, { seed }) }], isError: true, _meta }
  const data = (result.data ?? null) as Json
  const blocks = blocksIn(data)
  const structured = blocks === undefined ? data : (data as Members)['structuredContent']
  return {
    content: blocks?.map((block) =>
      block.type === 'text' && fenced ? { ...block, text: fenceText(tool.capabilityId, block.text, seed) } : block,
    ) ?? [{ type: 'text', text: resultText(result, { seed }) }],
    ...(isObject(structured) && { structuredContent: structured }),
    _meta,
  }
}

type Members = { readonly [key: string]: Json | undefined }

const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What another MCP server answered is in blocks already. */
function blocksIn(data: Json): readonly ContentBlock[] | undefined {
  const content = isObject(data) ? data['content'] : undefined
  if (!Array.isArray(content) || content.length === 0) return undefined
  return content.every((block) => isSpecType.ContentBlock(block)) ? (content as ContentBlock[]) : undefined
}
