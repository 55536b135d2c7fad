import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import { isSpecType } from '@modelcontextprotocol/server'
import type { Json } from '../base/canonical.ts'
import { isObject } from '../base/object.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { fenceText, resultText, type Tool } from '../runtime/hosting/tools.ts'
import type { McpDoor } from './door.ts'

/**
 * A result as a client of MCP reads it: text for its model, fenced; ids for its records; structure for its program, as
 * the schema says that the tool promises here. What a stream gave stands for a result that it did not return. A client
 * may show structure to its model, and structure has no fence: of upstreams it gets none, unless a person said so.
 */
export function answered(
  { host, fenced = true }: McpDoor,
  tool: Tool | undefined,
  result: InvocationResult,
  given: { readonly chunks?: readonly Json[] | undefined; readonly isCut?: boolean | undefined } = {},
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
    return {
      content: [{ type: 'text', text: resultText(result, { seed }) }],
      ...(!success && { isError: true }),
      _meta,
    }
  const data = (result.data ?? null) as Json
  const blocks = blocksIn(data, tool)
  const structured = structuredIn(tool, data)
  const isAsAccepted = isObject(structured) && fits(host, result, data)
  const shown = fenced ? blocks?.map((block) => fencedBlock(block, tool, seed)) : blocks
  return {
    content: shown?.length ? [...shown] : [{ type: 'text', text: resultText(result, { seed, ...given }) }],
    ...(isAsAccepted && { structuredContent: structured }),
    _meta,
  }
}

function fits(host: McpDoor['host'], { capability_id, capability_version }: InvocationResult, data: Json): boolean {
  const registered = host.current().registry.get(capability_id, capability_version ?? '')
  return registered?.checkOutput(data).length === 0
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

/** A block without unfenced words of its server: text is fenced, media are bytes alone, all else is fenced JSON. */
function fencedBlock(block: ContentBlock, { capabilityId }: Tool, seed: Uint8Array): ContentBlock {
  if ((block.type === 'image' || block.type === 'audio') && /^(?:image|audio)\/[\w.+-]{1,64}$/.test(block.mimeType)) {
    const data = block.data.replace(/[\r\n]+/g, '')
    if (isBase64(data)) return { type: block.type, data, mimeType: block.mimeType }
  }
  return {
    type: 'text',
    text: fenceText(capabilityId, block.type === 'text' ? block.text : JSON.stringify(block), seed),
  }
}

/** Without the blanks that lenient readers skip: words would stand between them. */
const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

/** What another MCP server answered is in blocks already, and if there are none its structure is all it said. */
function blocksIn(data: Json, { capabilityId }: Tool): readonly ContentBlock[] | undefined {
  const content = isObject(data) ? data['content'] : undefined
  if (!Array.isArray(content) || (content.length === 0 && !capabilityId.startsWith('mcp.'))) return undefined
  return content.every((block) => isSpecType.ContentBlock(block)) ? (content as ContentBlock[]) : undefined
}
