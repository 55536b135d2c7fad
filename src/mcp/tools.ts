import {
  type CallToolRequest,
  type CallToolResult,
  type InputRequiredResult,
  type Tool as McpTool,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { defined } from '../base/object.ts'
import { parseTraceparent } from '../base/trace.ts'
import type { Offer } from '../runtime/hosting/offer.ts'
import { isOffered, plain, type Tool, toolsOf } from '../runtime/hosting/tools.ts'
import { askToReturn, hasLeft, resumedCall } from './approval.ts'
import type { McpDoor } from './door.ts'
import { answered, structuredSchema } from './result.ts'

/** The tools of this caller. A name is the same for everybody, whatever they may see and whatever is away just now. */
export function listedTools({ host, caller }: Pick<McpDoor, 'host' | 'caller'>): readonly McpTool[] {
  const { tools } = namedTools(host)
  const offered = host.gateway.discover(caller).filter(isOffered)
  const visible = new Set(offered.map(({ id }) => id))
  return tools.filter(({ tool }) => visible.has(tool.capabilityId)).map(({ listed }) => listed)
}

interface Named {
  readonly tools: readonly { readonly tool: Tool; readonly listed: McpTool }[]
  /** By the names that are listed, and by the ids that results and records say. */
  readonly byName: ReadonlyMap<string, Tool>
}

/** The tool that a call names, whether or not its caller may see it. */
export const toolNamed = (host: McpDoor['host'], name: string): Tool | undefined => namedTools(host).byName.get(name)

const named = new WeakMap<Offer, Named>()

/** All tools of what is offered, made once for each offer. */
function namedTools(host: McpDoor['host']): Named {
  const offer = host.current()
  const known = named.get(offer)
  if (known !== undefined) return known
  const descriptors = offer.registry.all().map(({ descriptor }) => descriptor)
  const tools = toolsOf(descriptors, { seed: host.secretFor('fence') }).map((made) => {
    // What answers in text alone promises no structure.
    const { outputSchema: _, ...textOnly } = made
    const tool = offer.registry.get(made.capabilityId, made.version)?.textOnly ? textOnly : made
    return { tool, listed: listed(tool) }
  })
  const byId = tools.map(({ tool }) => [tool.capabilityId, tool] as const)
  const made = { tools, byName: new Map([...byId, ...tools.map(({ tool }) => [tool.name, tool] as const)]) }
  named.set(offer, made)
  return made
}

const listed = (tool: Tool): McpTool => {
  const { name, description, inputSchema, annotations } = tool
  const output = structuredSchema(tool)
  return {
    name,
    description,
    inputSchema: inputSchema as McpTool['inputSchema'],
    ...(output && { outputSchema: output as NonNullable<McpTool['outputSchema']> }),
    annotations,
  }
}

/** Takes one call to the gateway and returns its answer. Unknown tool names are refused there, on record. */
export async function callTool(
  door: McpDoor,
  server: Server,
  params: CallToolRequest['params'],
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const tool = toolNamed(door.host, params.name)
  const envelope = envelopeOf(door, tool, params, context)
  const waiting = await resumedCall(door, context)
  // What the client calls it, or the same call that people were asked about.
  const given = waiting?.invocationId ?? textOf(context.mcpReq._meta?.['ambit/invocation_id'])
  const invocation_id = given ?? (await door.host.gateway.waitingCall(door.caller, envelope))
  const { result, chunks, isCut } = await invoke(door, context, { ...envelope, ...defined({ invocation_id }) })
  if (result.denial?.code === 'capability_not_found')
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${plain(quote(params.name))}`)
  const told = answered(door, tool, result, { chunks, isCut })
  if (hasLeft(context)) return told
  return (await askToReturn(door, server, context, result, told)) ?? told
}

type Envelope = Parameters<McpDoor['host']['gateway']['waitingCall']>[1]

function envelopeOf(
  { correlationId }: McpDoor,
  tool: Tool | undefined,
  params: CallToolRequest['params'],
  { mcpReq: { _meta } }: ServerContext,
): Envelope {
  const trace = parseTraceparent(String(_meta?.['traceparent'] ?? ''))
  const correlation_id = textOf(_meta?.['ambit/correlation_id']) ?? correlationId
  return {
    capability_id: tool?.capabilityId ?? params.name.slice(0, 256),
    ...(tool && { version: tool.version, mode: tool.mode }),
    payload: params.arguments ?? {},
    correlation: { correlation_id, ...(trace && { trace_id: trace.traceId }) },
  }
}

function invoke(door: McpDoor, { mcpReq }: ServerContext, envelope: Envelope) {
  const progressToken = tokenOf(mcpReq)
  let progress = 0
  const chunk = () => {
    progress += 1
    if (progressToken === undefined || progress > limits.chunksKeptMax) return
    const params = { progressToken, progress }
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
  const signal = door.outlivesConnection ? undefined : mcpReq.signal
  return door.host.gateway.invoke(door.caller, envelope, { chunk, signal })
}

/** The client's progress token. Each chunk repeats it and is buffered until the client reads it, so it is short. */
function tokenOf({ _meta }: ServerContext['mcpReq']): string | number | undefined {
  const token = _meta?.progressToken
  return typeof token === 'string' && token.length > limits.wireIdCharsMax ? undefined : token
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
