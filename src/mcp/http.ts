import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { openPlaces } from '../base/places.ts'
import type { AmbitHost, CallCaller } from '../runtime/hosting/host.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { McpDoor } from './door.ts'
import { refusedHeaders } from './param-headers.ts'
import { type McpOptions, openMcpServer } from './server.ts'

/** Who sends a request, and what is told of the work on it. */
type McpCaller = Pick<McpDoor, 'agent'> & {
  readonly caller: CallCaller
  readonly until?: (work: Promise<unknown>) => void
}

export type McpHttp = ReturnType<typeof openMcpHttp>

/** MCP over HTTP, both revisions, each request by itself: nothing is kept between requests but the record. */
export function openMcpHttp(ambit: Runtime, host: AmbitHost, options: McpOptions) {
  const open: McpServerFactory = ({ era, authInfo }) => {
    const by = authInfo?.extra?.['by'] as McpCaller
    const { caller, until, agent } = by
    return openMcpServer({
      ...options,
      ...{ ambit, host, era, until, agent, name: caller.name, caller: async () => caller },
      // The older revision cancels by a message, which cannot find the call: each request has a server of its own.
      outlivesConnection: era === 'legacy',
    })
  }
  const calls = createMcpHandler(open, { maxRequestBodySize: 1 })
  // Apart from calls, because to close a handler breaks off what it is doing.
  const listening = createMcpHandler(open, { maxRequestBodySize: 1 })
  const listeners = openPlaces(limits.mcpListenersPerCallerMax)
  let isClosed = false
  /** Opens one more answer that stays open, unless the caller has too many already: it would take the room of all others. */
  const listen = async (name: string, answer: () => Promise<Response>): Promise<Response> => {
    if (isClosed) throw new Failure('overloaded', 'the host is about to end')
    if (!listeners.take(name))
      throw new Failure('rate.limited', 'this caller listens too often already: end a subscription first')
    const release = host.hold()
    const over = (): void => {
      listeners.leave(name)
      release()
    }
    try {
      return callWhenOver(await answer(), over)
    } catch (error) {
      over()
      throw error
    }
  }
  const off = host.watch(() => listening.notify.toolsChanged())
  return {
    /** Answers one request of an authenticated caller, with a body that the server has read. */
    fetch: async (request: Request, parsedBody: unknown, by: McpCaller): Promise<Response> => {
      const { caller } = by
      const authInfo = { token: '', clientId: caller.name, scopes: [], extra: { by } }
      if ((parsedBody as { method?: unknown } | null)?.method === 'subscriptions/listen')
        return listen(caller.name, () => listening.fetch(request, { parsedBody, authInfo }))
      return (
        refusedHeaders({ host, caller }, request.headers, parsedBody) ?? calls.fetch(request, { parsedBody, authInfo })
      )
    },
    /** Ends what clients listen to, which never ends by itself; calls under way go on. */
    close: (): Promise<void> => {
      off()
      isClosed = true
      return listening.close()
    },
  }
}

/** The same answer; `over` is called once it has ended, from either side. Its connection ends with it: a closing server may wait for it. */
function callWhenOver({ body, status, headers: given }: Response, over: () => void): Response {
  const headers = new Headers(given)
  headers.set('connection', 'close')
  if (body === null) over()
  const ending = new TransformStream<Uint8Array, Uint8Array>({ flush: over, cancel: over })
  return new Response(body?.pipeThrough(ending) ?? null, { status, headers })
}
