import type { Readable, Writable } from 'node:stream'
import type { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { AmbitHost, CallCaller } from '../runtime/hosting/host.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { McpDoor } from './door.ts'
import { openMcpServer } from './server.ts'

interface StdioOptions extends Pick<McpDoor, 'agent'> {
  readonly input?: Readable
  readonly output?: Writable
}

/** MCP over standard input and output for one client, until the client ends it or `signal` falls. */
export async function serveMcpStdio(
  ambit: Runtime,
  host: AmbitHost,
  caller: () => Promise<CallCaller>,
  signal: AbortSignal,
  { input = process.stdin, output = process.stdout, agent }: StdioOptions = {},
): Promise<void> {
  const ended = Promise.withResolvers<void>()
  const { name } = await caller()
  // The library listens no longer than it serves: a stream may still fail after that.
  input.on('error', () => undefined)
  const transport = new StdioServerTransport(input, output)
  const close = transport.close.bind(transport)
  transport.close = async () => {
    await close()
    ended.resolve()
  }
  let server: Server | undefined
  const handle = serveStdio(
    ({ era }) => {
      server = openMcpServer({ ambit, host, name, caller, era, agent })
      return server
    },
    { transport },
  )
  const off = host.watch(() => void server?.sendToolListChanged().catch(() => undefined))
  signal.addEventListener('abort', () => ended.resolve(), { once: true })
  if (signal.aborted) ended.resolve()
  await ended.promise
  off()
  await handle.close()
}
