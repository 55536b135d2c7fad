import { PassThrough, type Readable, type Writable } from 'node:stream'
import { STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { lineCutter } from '../base/lines.ts'
import type { Ambit } from '../runtime/ambit.ts'
import type { AmbitHost, CallCaller } from '../runtime/host.ts'
import { ownContent } from './content.ts'
import type { CallContext } from './door.ts'
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
  let served: Served | undefined
  const calls = openPlainCalls({
    served: () => served,
    send: (message) => void output.write(`${JSON.stringify(message)}\n`),
  })
  const { rest, leave } = apart(input, calls)
  // Lines are bounded before. Bytes that are no text take more once they are written again.
  const transport = new StdioServerTransport(rest, output, { maxBufferSize: 4 * lineBytesMax })
  const close = transport.close.bind(transport)
  transport.close = async () => {
    calls.close()
    await close()
    ended.resolve()
  }
  const handle = serveStdio(
    ({ era }) => {
      const open = { ...deps, era, called: ({ mcpReq }: CallContext) => calls.accept(mcpReq.envelope) }
      served = { deps: open, server: openMcpServer(open) }
      return served.server
    },
    { transport },
  )
  const off = host.watch(() => void served?.server.sendToolListChanged().catch(() => undefined))
  signal.addEventListener('abort', () => ended.resolve(), { once: true })
  if (signal.aborted) ended.resolve()
  await ended.promise
  off()
  leave()
  await handle.close()
}

const lineBytesMax = STDIO_DEFAULT_MAX_BUFFER_SIZE

/** The lines of the input that are JSON and not for `calls`, until it is left. */
function apart(input: Readable, calls: PlainCalls): { readonly rest: Readable; leave(): void } {
  const rest = new PassThrough().on('error', () => undefined)
  const linesIn = lineCutter(lineBytesMax)
  const read = (chunk: Buffer): void => {
    try {
      for (const line of linesIn(chunk)) pass(line)
    } catch (error) {
      rest.destroy(error as Error)
    }
  }
  const pass = (line: string): void => {
    const message = valueIn(line)
    if (message !== undefined && !calls.take(message)) rest.write(`${line}\n`)
  }
  const end = () => void rest.end()
  const fail = (error: Error) => void rest.destroy(error)
  input.on('data', read).on('end', end).on('close', end).on('error', fail)
  if (input.readableEnded || input.destroyed) end()
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
