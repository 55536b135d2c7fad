import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import { isSpecType } from '@modelcontextprotocol/server'
import type { Json } from '../base/canonical.ts'
import type { InvocationResult } from '../model/result.ts'
import { fenceText, resultText, type Tool } from '../runtime/tools.ts'
import type { McpDoor } from './door.ts'

/**
 * A result as a client of MCP reads it: text for its model, fenced; ids for its records; structure for its program, as
 * the schema says that somebody accepted. A client that shows structure to its model shows it what nobody has fenced.
 */
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
  const structured = structuredIn(tool, data)
  const fence = (text: string): string => fenceText(tool.capabilityId, text, seed)
  return {
    content: blocks?.map((block) => (fenced ? fencedBlock(block, fence) : block)) ?? [
      { type: 'text', text: resultText(result, { seed }) },
    ],
    ...(isObject(structured) && { structuredContent: structured }),
    _meta,
  }
}

type Members = { readonly [key: string]: Json | undefined } | undefined

/** What a tool promises of its structured result: behind another MCP server a part of its answer, otherwise all of it. */
export function structuredSchema({ capabilityId, outputSchema }: Tool): Tool['outputSchema'] {
  const inner = isBehindMcp(capabilityId)
    ? (outputSchema?.['properties'] as Members)?.['structuredContent']
    : outputSchema
  return (inner as Members)?.['type'] === 'object' ? (inner as Tool['outputSchema']) : undefined
}

const structuredIn = (tool: Tool, data: Json): unknown => {
  if (structuredSchema(tool) === undefined) return undefined
  return isBehindMcp(tool.capabilityId) ? (data as Members)?.['structuredContent'] : data
}

const isBehindMcp = (id: string): boolean => id.startsWith('mcp.')

const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What another MCP server answered is in blocks already. */
function blocksIn(data: Json): readonly ContentBlock[] | undefined {
  const content = isObject(data) ? data['content'] : undefined
  if (!Array.isArray(content) || content.length === 0) return undefined
  return content.every((block) => isSpecType.ContentBlock(block)) ? (content as ContentBlock[]) : undefined
}

/** Of a block the members we know, every text of it in the fence: annotations and `_meta` of others stay behind. */
function fencedBlock(block: ContentBlock, fence: (text: string) => string): ContentBlock {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: fence(block.text) }
    case 'resource_link': {
      const { name, title, description, uri } = block
      return { type: 'text', text: fence(JSON.stringify({ type: 'resource_link', name, title, description, uri })) }
    }
    case 'resource': {
      const { uri, mimeType } = block.resource
      const body = 'text' in block.resource ? { text: fence(block.resource.text) } : { blob: block.resource.blob }
      return { type: 'resource', resource: { uri, ...(mimeType !== undefined && { mimeType }), ...body } }
    }
    default: {
      const { type, data, mimeType } = block
      return { type, data, mimeType }
    }
  }
}
