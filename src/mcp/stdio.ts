import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Ambit } from '../runtime/ambit.ts'
import type { AmbitHost, CallCaller } from '../runtime/host.ts'
import { ownContent } from './content.ts'
import { openStates } from './http.ts'
import { openMcpServer } from './server.ts'

export interface McpStdioDeps {
  readonly ambit: Ambit
  readonly host: AmbitHost
  readonly caller: CallCaller
}

/** MCP over standard input and output for one caller, until the client ends it or `signal` falls. */
export async function serveMcpStdio({ ambit, host, caller }: McpStdioDeps, signal: AbortSignal): Promise<void> {
  const ended = Promise.withResolvers<void>()
  const correlationId = ambit.ids.next('cor')
  const states = openStates(host)(caller)
  const handle = serveStdio(
    ({ era }) => {
      const content = ownContent({ ambit, host, caller })
      return openMcpServer({ host, caller, era, correlationId, content, states })
    },
    { transport: closing(() => ended.resolve()) },
  )
  signal.addEventListener('abort', () => ended.resolve(), { once: true })
  await ended.promise
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
