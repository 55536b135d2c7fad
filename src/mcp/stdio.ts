import type { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Ambit } from '../runtime/ambit.ts'
import type { AmbitHost, CallCaller } from '../runtime/host.ts'
import { ownContent } from './content.ts'
import { openStates } from './http.ts'
import { openMcpServer } from './server.ts'

export interface McpStdioDeps {
  readonly ambit: Ambit
  readonly host: AmbitHost
  /** See `McpServerDeps`. The name that it answers stays the same. */
  readonly caller: () => Promise<CallCaller>
}

/** MCP over standard input and output for one client, until the client ends it or `signal` falls. */
export async function serveMcpStdio({ ambit, host, caller }: McpStdioDeps, signal: AbortSignal): Promise<void> {
  const ended = Promise.withResolvers<void>()
  const correlationId = ambit.ids.next('cor')
  const states = openStates(host)(await caller())
  const content = (caller: CallCaller) => ownContent({ ambit, host, caller })
  const opened = new Set<Server>()
  const handle = serveStdio(
    ({ era }) => {
      const server = openMcpServer({ host, caller, era, correlationId, content, states })
      opened.add(server)
      return server
    },
    { transport: closing(() => ended.resolve()) },
  )
  const off = host.watch(() => {
    for (const server of opened) void server.sendToolListChanged().catch(() => undefined)
  })
  signal.addEventListener('abort', () => ended.resolve(), { once: true })
  if (signal.aborted) ended.resolve()
  await ended.promise
  off()
  await handle.close()
}

/** Standard input and output, saying when they end. */
function closing(ended: () => void): StdioServerTransport {
  const transport = new StdioServerTransport()
  const close = transport.close.bind(transport)
  transport.close = async () => {
    await close()
    ended()
  }
  return transport
}
