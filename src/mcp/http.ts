import { createMcpHandler, createRequestStateCodec } from '@modelcontextprotocol/server'
import type { Ambit } from '../runtime/ambit.ts'
import type { AmbitHost, CallCaller } from '../runtime/host.ts'
import { type Content, ownContent } from './content.ts'
import type { WaitingState } from './door.ts'
import { refusedHeaders } from './param-headers.ts'
import { openMcpServer } from './server.ts'

export interface McpHttp {
  /** Answers one request of a caller whom the server has let in, with a body it has read. */
  fetch(request: Request, caller: CallCaller, body: unknown): Promise<Response>
  close(): Promise<void>
}

export interface McpHttpDeps {
  readonly ambit: Ambit
  readonly host: AmbitHost
  /** What is served beside tools, if not our own. */
  readonly content?: (caller: CallCaller) => Content
  /** See `McpDoor`. */
  readonly fenced?: boolean
  readonly roundMs?: number
}

/** MCP over HTTP, both revisions, each request by itself: nothing is kept between requests but the record. */
export function openMcpHttp({ ambit, host, content, ...options }: McpHttpDeps): McpHttp {
  const states = openStates(host)
  const handler = createMcpHandler(
    ({ era, authInfo }) => {
      const caller = authInfo?.extra?.['caller'] as CallCaller
      return openMcpServer({
        host,
        caller: async () => caller,
        era,
        correlationId: ambit.ids.next('cor'),
        content: content ?? ((caller) => ownContent({ ambit, host, caller })),
        states: states(caller),
        ...options,
      })
    },
    { maxRequestBodySize: 1 },
  )
  const off = host.watch(() => handler.notify.toolsChanged())
  return {
    fetch: async (request, caller, parsedBody) =>
      refusedHeaders(host, request.headers, parsedBody) ??
      handler.fetch(request, {
        parsedBody,
        authInfo: { token: '', clientId: caller.name, scopes: [], extra: { caller } },
      }),
    close: () => {
      off()
      return handler.close()
    },
  }
}

/** What a client carries for us from round to round: sealed for this tenant and this caller. */
export function openStates(host: AmbitHost) {
  const key = host.secretFor('mcp-request-state')
  return (caller: CallCaller) =>
    createRequestStateCodec<WaitingState>({
      key,
      ttlSeconds: 24 * 60 * 60,
      bind: ({ mcpReq }) => `${mcpReq.method}\0${caller.name}`,
    })
}
