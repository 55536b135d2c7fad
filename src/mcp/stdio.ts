import { PassThrough, type Readable, type Writable } from 'node:stream'
import { STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { lineCutter } from '../base/lines.ts'
import type { Ambit } from '../runtime/ambit.ts'
import type { AmbitHost, CallCaller } from '../runtime/host.ts'
import { ownContent } from './content.ts'
import type { Era } from './door.ts'
import { openStates } from './http.ts'
import { openPlainCalls, type PlainCalls } from './plain-calls.ts'
import { type McpServerDeps, openMcpServer, type Served } from './server.ts'

export interface McpStdioDeps {
  readonly ambit: Ambit
  readonly host: AmbitHost
  /** See `McpServerDeps`. The name that it answers stays the same. */
  readonly caller: () => Promise<CallCaller>
  /** Where its client is, if not at the standard streams of this process. */
  readonly streams?: { readonly input: Readable; readonly output: Writable }
}

/** MCP over standard input and output for one client, until the client ends it or `signal` falls. */
export async function serveMcpStdio(
  { ambit, host, caller, streams = { input: process.stdin, output: process.stdout } }: McpStdioDeps,
  signal: AbortSignal,
): Promise<void> {
  const { input, output } = streams
  const ended = Promise.withResolvers<void>()
  const deps: Omit<McpServerDeps, 'era'> = {
    host,
    caller,
    correlationId: ambit.ids.next('cor'),
    content: (caller) => ownContent({ ambit, host, caller }),
    states: openStates(host)(await caller()),
  }
  const opened = new Map<Era, Served>()
  const calls = openPlainCalls({
    served: (era) => opened.get(era),
    send: (message) => void output.write(`${JSON.stringify(message)}\n`),
  })
  const { rest, leave } = apart(input, calls)
  const transport = new StdioServerTransport(rest, output)
  watched(transport, calls, ended.resolve)
  const handle = serveStdio(
    ({ era }) => {
      const server = openMcpServer({ ...deps, era })
      opened.set(era, { deps: { ...deps, era }, server })
      return server
    },
    { transport },
  )
  const off = host.watch(() => {
    for (const { server } of opened.values()) void server.sendToolListChanged().catch(() => undefined)
  })
  signal.addEventListener('abort', () => ended.resolve(), { once: true })
  if (signal.aborted) ended.resolve()
  await ended.promise
  off()
  await handle.close()
  leave()
}

/** What of the input is not for `calls`, until it is left. */
function apart(input: Readable, calls: PlainCalls): { readonly rest: Readable; leave(): void } {
  const rest = new PassThrough()
  const linesIn = lineCutter(STDIO_DEFAULT_MAX_BUFFER_SIZE)
  const read = (chunk: Buffer): void => {
    try {
      for (const line of linesIn(chunk)) if (!calls.take(valueIn(line))) rest.write(`${line}\n`)
    } catch (error) {
      rest.destroy(error as Error)
    }
  }
  const end = () => void rest.end()
  input.on('data', read).on('end', end).on('close', end)
  input.on('error', (error) => rest.destroy(error))
  return {
    rest,
    leave: () => {
      input.off('data', read).off('end', end).off('close', end)
      input.pause()
    },
  }
}

function valueIn(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Tells `calls` of what is sent by others, and of the end. */
function watched(transport: StdioServerTransport, calls: PlainCalls, ended: () => void): void {
  const { send, close } = transport
  transport.send = (message) => {
    calls.sent(message)
    return send.call(transport, message)
  }
  transport.close = async () => {
    calls.close()
    await close.call(transport)
    ended()
  }
}
