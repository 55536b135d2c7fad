import { createMcpHandler, createRequestStateCodec, type McpServerFactory } from '@modelcontextprotocol/server'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { openPlaces } from '../base/places.ts'
import type { AmbitHost, CallCaller } from '../runtime/hosting/host.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type Content, ownContent } from './content.ts'
import type { WaitingState } from './door.ts'
import { refusedHeaders } from './param-headers.ts'
import { openMcpServer } from './server.ts'

export interface McpHttp {
  /** Answers one request of an authenticated caller, with a body that the server has read. */
  fetch(request: Request, body: unknown, by: McpCaller): Promise<Response>
  /** Ends what clients listen to, which never ends by itself; calls under way go on. */
  close(): Promise<void>
}

export interface McpCaller {
  readonly caller: CallCaller
  /** See `McpServerDeps`. */
  readonly until?: (work: Promise<unknown>) => void
}

export interface McpHttpDeps {
  readonly ambit: Runtime
  readonly host: AmbitHost
  /** What is served beside tools, if not our own. */
  readonly content?: (caller: CallCaller) => Content
  /** See `McpDoor`. */
  readonly fenced?: boolean
  readonly roundMs?: number
  /** See `McpServerDeps`. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** MCP over HTTP, both revisions, each request by itself: nothing is kept between requests but the record. */
export function openMcpHttp({ ambit, host, content, ...options }: McpHttpDeps): McpHttp {
  const open: McpServerFactory = ({ era, authInfo }) => {
    const by = authInfo?.extra?.['by'] as McpCaller
    const { caller, until } = by
    return openMcpServer({
      host,
      caller: async () => caller,
      era,
      // The older revision wants to be told, and has nobody who could be: each request is by itself.
      outlivesConnection: era === 'legacy',
      correlationId: ambit.ids.next('cor'),
      content: content ?? ((caller) => ownContent({ ambit, host, caller })),
      states: openStates(host, caller),
      until,
      ...options,
    })
  }
  const calls = createMcpHandler(open, { maxRequestBodySize: 1 })
  // Apart from calls, because to close a handler breaks off what it is doing.
  const listening = createMcpHandler(open, { maxRequestBodySize: 1 })
  const listeners = openListeners()
  const off = host.watch(() => listening.notify.toolsChanged())
  return {
    fetch: async (request, parsedBody, by) => {
      const { caller } = by
      const authInfo = { token: '', clientId: caller.name, scopes: [], extra: { by } }
      if ((parsedBody as { method?: unknown } | null)?.method === 'subscriptions/listen')
        return listeners.listen(caller.name, () => listening.fetch(request, { parsedBody, authInfo }), host.hold())
      return (
        refusedHeaders({ host, caller }, request.headers, parsedBody) ?? calls.fetch(request, { parsedBody, authInfo })
      )
    },
    close: () => {
      off()
      listeners.close()
      return listening.close()
    },
  }
}

/** What a client carries for us from round to round: sealed for this tenant and this caller. */
export const openStates = (host: AmbitHost, caller: CallCaller) =>
  createRequestStateCodec<WaitingState>({
    key: host.secretFor('mcp-request-state'),
    ttlSeconds: 24 * 60 * 60,
    bind: ({ mcpReq }) => `${mcpReq.method}\0${caller.name}`,
  })

/** Counts the answers that stay open by caller, so that no caller takes the room of all others. */
function openListeners() {
  const places = openPlaces(limits.mcpListenersPerCallerMax)
  let closed = false
  return {
    /** Opens one more answer that stays open, unless the caller has too many already. `ended` is called once it is over. */
    listen: async (name: string, open: () => Promise<Response>, ended: () => void): Promise<Response> => {
      let over = ended
      try {
        if (closed) throw new Failure('overloaded', 'the host is about to end')
        if (!places.take(name))
          throw new Failure('rate.limited', 'this caller listens too often already: end a subscription first')
        over = () => {
          places.leave(name)
          ended()
        }
        return callWhenOver(await open(), over)
      } catch (error) {
        over()
        throw error
      }
    },
    /** Opens no more. */
    close: () => {
      closed = true
    },
  }
}

/** The same answer; `over` is called once it has ended, from either side. Its connection ends with it: a closing server may wait for it. */
function callWhenOver(response: Response, over: () => void): Response {
  const reader = response.body?.getReader()
  if (reader === undefined) over()
  void reader?.closed.then(over, over)
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await reader?.read()
      if (next?.value === undefined) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: (reason) => reader?.cancel(reason),
  })
  const headers = new Headers(response.headers)
  headers.set('connection', 'close')
  return new Response(body, { status: response.status, headers })
}
