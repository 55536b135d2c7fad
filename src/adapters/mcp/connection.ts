import type { Client, ClientOptions } from '@modelcontextprotocol/client'
import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { version } from '../../base/version.ts'
import { within } from '../../gateway/within.ts'
import type { Egress } from '../egress/egress.ts'
import { type Address, httpTransport } from './http.ts'
import { endedIn, failureOf, resultOf, statusOf, unavailable } from './outcome.ts'
import { type Program, stdioTransport } from './stdio.ts'
import { readTools, type ToolDefinition } from './tool-drift.ts'
import { type ClosableTransport, NotSent } from './transport.ts'

interface ToolCall {
  readonly tool: ToolDefinition
  readonly input: Readonly<Record<string, Json>>
  readonly traceparent: string
  /** Aborts when the time of the call is over, or its caller no longer waits. */
  readonly signal: AbortSignal
}

export type Tools = readonly ToolDefinition[]

/** One conversation with a server. */
export interface Connection extends ReturnType<typeof conversation> {}

export interface Listener {
  /** Aborts when the connection is no longer needed. */
  readonly signal: AbortSignal
  /** Receives every new list of tools. */
  listed(tools: Tools): void
  /** No new call may be sent there; calls under way go on. */
  retired(): void
  /** The conversation is over; `why` unless we ended it. */
  closed(why: string | undefined): void
}

type Sdk = typeof import('@modelcontextprotocol/client')

/** Connects in the newest revision that both sides speak; fails with a `CallEnded` without effect. */
export async function connect(name: string, server: Address | Program, egress: Egress, listener: Listener) {
  // Loaded when it is needed: it takes longer than all the rest of a start.
  const sdk = await import('@modelcontextprotocol/client')
  if ('url' in server) return attempt(name, sdk, httpTransport(server, egress, sdk), listener)
  try {
    return await attempt(name, sdk, stdioTransport(server), listener)
  } catch (error) {
    const isUnknown = ((error as Error).cause as { code?: unknown } | undefined)?.code === 'ERA_NEGOTIATION_FAILED'
    if (!isUnknown || listener.signal.aborted) throw error
    // Some programs end at a question that they do not know. They speak the older revision.
    return attempt(name, sdk, stdioTransport(server), listener, { prior: { kind: 'legacy' } })
  }
}

async function attempt(
  name: string,
  sdk: Sdk,
  transport: ClosableTransport,
  listener: Listener,
  options: { readonly prior?: { readonly kind: 'legacy' } } = {},
): Promise<Connection> {
  let connection: Connection | undefined
  const client = new sdk.Client(
    { name: 'ambit', version },
    clientOptions(() => connection?.refresh()),
  )
  const giveUp = () => void transport.close().catch(() => undefined)
  listener.signal.addEventListener('abort', giveUp)
  try {
    listener.signal.throwIfAborted()
    await client.connect(transport, { timeout: limits.mcpConnectMs, ...options })
    if (client.transport === undefined) throw new NotSent('it went away at once')
  } catch (error) {
    await transport.close().catch(() => undefined)
    throw Object.assign(unavailable(name, transport.why ?? reasonOf(error)), { cause: error })
  } finally {
    listener.signal.removeEventListener('abort', giveUp)
  }
  connection = conversation(name, client, transport, listener)
  return connection
}

const clientOptions = (changed: () => void): ClientOptions => ({
  // No sampling, no elicitation, no roots: a server that asks for them is refused.
  capabilities: {},
  versionNegotiation: { mode: 'auto', probe: { timeoutMs: limits.mcpProbeMs } },
  inputRequired: { autoFulfill: false },
  listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } },
  // The gateway checks answers against the schema that people accepted.
  jsonSchemaValidator: {
    getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
  },
})

function conversation(name: string, client: Client, transport: ClosableTransport, listener: Listener) {
  const listing = openListing(client, listener)
  const underway = new Set<{ asked: boolean }>()
  let retired = false
  /** Closes it when the calls under way have ended. */
  const retire = () => {
    retired = true
    listing.stop()
    listener.retired()
    if (underway.size === 0) void close()
  }
  const close = async () => {
    retired = true
    await within(transport.leave?.(), limits.mcpGraceMs, () => undefined, { aside: true }).catch(() => undefined)
    await client.close().catch(() => undefined)
    await transport.close().catch(() => undefined)
  }
  client.onclose = () => {
    listing.stop()
    listener.closed(retired ? undefined : (transport.why ?? 'it closed the connection'))
  }
  client.fallbackRequestHandler = async () => {
    // Which call it asks for cannot be told.
    for (const call of underway) call.asked = true
    throw Object.assign(new Error('Method not found'), { code: methodNotFound })
  }
  // Without news of changes, a new connection looks at everything again.
  client.autoOpenedSubscription?.closed.then(() => retired || retire())
  return {
    /** What the server says of itself. */
    server: client.getServerVersion() as { readonly name: string; readonly version: string } | undefined,
    /** The revision of the protocol that both speak. */
    protocol: client.getNegotiatedProtocolVersion() ?? '',
    ...{ tools: listing.tools, refresh: listing.refresh, retire, close },
    call: async ({ tool, input, traceparent, signal }: ToolCall): Promise<Json> => {
      const state = { asked: false }
      underway.add(state)
      try {
        const params = { name: tool.name, arguments: { ...input }, _meta: { traceparent } }
        // Its schema says which members of the input are sent as headers too.
        const toolDefinition = { name: tool.name, inputSchema: tool['inputSchema'] } as never
        const options = { signal, timeout: longerThanAnyCallMs, toolDefinition }
        return resultOf(await client.callTool(params, options), state.asked)
      } catch (error) {
        // It has forgotten our session: others may still get their answers, but no new call is sent there.
        if (transport.sessionId !== undefined && statusOf(error) === 404) retire()
        throw failureOf(error, name, state.asked)
      } finally {
        underway.delete(state)
        if (retired && underway.size === 0) void close()
      }
    },
  }
}

const methodNotFound = -32601
const longerThanAnyCallMs = 2 * limits.callTimeoutMaxMs

function openListing(client: Client, { listed }: Listener) {
  let last: { readonly at: number; readonly tools: Promise<Tools> } | undefined
  let asked = 0
  let soon: NodeJS.Timeout | undefined
  const list = async () => {
    asked += 1
    const mine = asked
    const found = await listTools(client)
    // Answers may come out of order: only the latest request counts.
    if (mine === asked) listed(found)
    return found
  }
  /** The tools as they were listed last, or anew if that may be outdated. */
  const tools = (): Promise<Tools> => {
    if (last && performance.now() - last.at < limits.mcpListMs) return last.tools
    const listing = { at: performance.now(), tools: list() }
    last = listing
    listing.tools.catch(() => {
      if (last === listing) last = undefined
    })
    return listing.tools
  }
  return {
    tools,
    /** Lists the tools anew soon, or at the next call. */
    refresh: (): void => {
      last = undefined
      // Not sooner, however often the server says it, and not later either.
      soon ??= setTimeout(() => {
        soon = undefined
        tools().catch(() => undefined)
      }, limits.mcpListPauseMs).unref()
    },
    stop: () => clearTimeout(soon),
  }
}

/** All pages, as they came: the digest of a tool does not depend on how much of it a library knows. */
async function listTools(client: Client): Promise<Tools> {
  if (!client.getServerCapabilities()?.tools) return []
  const tools: ToolDefinition[] = []
  let cursor: string | undefined
  for (let page = 0; page < limits.mcpPagesMax; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const found = await client.request({ method: 'tools/list', params }, anything, { timeout: limits.mcpConnectMs })
    tools.push(...readTools(found))
    if (tools.length > limits.mcpToolsMax) break
    const { nextCursor } = found as { nextCursor?: unknown }
    if (typeof nextCursor !== 'string') return tools
    cursor = nextCursor
  }
  throw new Error('it has more tools than anyone could read')
}

const anything = {
  '~standard': { version: 1, vendor: 'ambit', validate: (value: unknown) => ({ value }) },
} as const

function reasonOf(error: unknown): string {
  const status = statusOf(error)
  if (status !== undefined) return `it answered with the status ${status}`
  return endedIn(error)?.message ?? 'it does not answer as an MCP server'
}
