import type { Client, ClientOptions } from '@modelcontextprotocol/client'
import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { version } from '../../base/version.ts'
import type { Egress } from '../egress/egress.ts'
import { readTools, type ToolDefinition } from './definition.ts'
import { type Address, httpTransport } from './http.ts'
import { endedIn, failureOf, resultOf, statusOf, unavailable } from './outcome.ts'
import { type Program, stdioTransport } from './stdio.ts'
import { type ClosableTransport, NotSent } from './transport.ts'

export interface ToolCall {
  readonly tool: ToolDefinition
  readonly input: Readonly<Record<string, Json>>
  readonly traceparent: string
  /** Falls when the time of the call is over, or nobody waits for it any more. */
  readonly signal: AbortSignal
}

/** One conversation with a server. */
export interface Connection {
  /** What the server says of itself. */
  readonly server: { readonly name: string; readonly version: string } | undefined
  /** The revision of the protocol that both speak. */
  readonly protocol: string
  list(): Promise<readonly ToolDefinition[]>
  call(call: ToolCall): Promise<Json>
  /** Closes it when the calls under way have ended. */
  retire(): void
  close(): Promise<void>
}

export interface Listener {
  /** Nobody waits for the connection any more. */
  readonly signal: AbortSignal
  /** The server says that its tools have changed. */
  changed(): void
  /** Nobody is sent there any more; calls under way go on. */
  retired(): void
  /** The conversation is over, whoever ended it. */
  closed(why: string | undefined): void
}

const clientInfo = { name: 'ambit', version }

type Sdk = typeof import('@modelcontextprotocol/client')

/** Connects in the newest revision that both sides speak; fails with a `CallEnded` without effect. */
export async function connect(
  name: string,
  server: Address | Program,
  egress: Egress,
  listener: Listener,
): Promise<Connection> {
  // Loaded when it is needed: it takes longer than all the rest of a start.
  const sdk = await import('@modelcontextprotocol/client')
  if ('url' in server) return attempt(name, sdk, httpTransport(server, egress, sdk), listener)
  const open = () => stdioTransport(server)
  try {
    return await attempt(name, sdk, open(), listener)
  } catch (error) {
    const isUnknown = error instanceof Error && codeOf(error.cause) === 'ERA_NEGOTIATION_FAILED'
    if (!isUnknown || listener.signal.aborted) throw error
    // Some programs end at a question that they do not know. They speak the older revision.
    return attempt(name, sdk, open(), listener, { prior: { kind: 'legacy' } })
  }
}

async function attempt(
  name: string,
  sdk: Sdk,
  transport: ClosableTransport,
  listener: Listener,
  options: { readonly prior?: { readonly kind: 'legacy' } } = {},
): Promise<Connection> {
  const client = new sdk.Client(clientInfo, clientOptions(listener))
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
  return conversation(name, sdk, client, transport, listener)
}

const clientOptions = (listener: Listener): ClientOptions => ({
  // No sampling, no elicitation, no roots: whoever asks for them is refused.
  capabilities: {},
  versionNegotiation: { mode: 'auto', probe: { timeoutMs: limits.mcpProbeMs } },
  inputRequired: { autoFulfill: false },
  listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => listener.changed() } },
  // Answers are held against the schema that people accepted, by the gateway.
  jsonSchemaValidator: {
    getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
  },
})

function conversation(
  name: string,
  sdk: Sdk,
  client: Client,
  transport: ClosableTransport,
  listener: Listener,
): Connection {
  const underway = new Set<{ asked: boolean }>()
  let retired = false
  const retire = () => {
    retired = true
    listener.retired()
    if (underway.size === 0) void close()
  }
  const close = async () => {
    retired = true
    await Promise.race([transport.leave?.().catch(() => undefined), pause(limits.mcpGraceMs)])
    await client.close().catch(() => undefined)
    await transport.close().catch(() => undefined)
  }
  client.onclose = () => listener.closed(retired ? undefined : (transport.why ?? 'it closed the connection'))
  client.fallbackRequestHandler = async () => {
    // Which call it asks for cannot be told.
    for (const call of underway) call.asked = true
    throw Object.assign(new Error('Method not found'), { code: methodNotFound })
  }
  // Whoever no longer hears of changes starts anew, and looks at everything again.
  client.autoOpenedSubscription?.closed.then(() => retired || retire())
  return {
    server: client.getServerVersion(),
    protocol: client.getNegotiatedProtocolVersion() ?? '',
    list: () => listTools(client),
    call: async ({ tool, input, traceparent, signal }) => {
      const state = { asked: false }
      underway.add(state)
      try {
        const params = { name: tool.name, arguments: { ...input }, _meta: { [sdk.TRACEPARENT_META_KEY]: traceparent } }
        const options = { signal, timeout: longerThanAnyCallMs, toolDefinition: headersOf(tool) }
        return resultOf(await client.callTool(params, options), state.asked)
      } catch (error) {
        // It has forgotten our session: others may still get their answers, nobody is sent there any more.
        if (transport.sessionId !== undefined && statusOf(error) === 404) retire()
        throw failureOf(error, name, state.asked)
      } finally {
        underway.delete(state)
        if (retired && underway.size === 0) void close()
      }
    },
    retire,
    close,
  }
}

const methodNotFound = -32601
const longerThanAnyCallMs = 2 * limits.callTimeoutMaxMs

/** As much of a tool as says which members of its input are sent as headers too. */
const headersOf = ({ name, inputSchema }: ToolDefinition) => ({ name, inputSchema }) as never

/** All pages, as they came: the digest of a tool does not depend on how much of it a library knows. */
async function listTools(client: Client): Promise<readonly ToolDefinition[]> {
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

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code

function reasonOf(error: unknown): string {
  const status = statusOf(error)
  if (status !== undefined) return `it answered with the status ${status}`
  return endedIn(error)?.message ?? 'it does not answer as an MCP server'
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref())
