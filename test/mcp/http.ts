// A server over HTTP: `both` revisions without sessions, `modern` alone, or `legacy` with sessions.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'
import { makeServer } from './tools.ts'

export interface GivenHttp {
  readonly url: string
  /** The requests so far: method and headers. */
  readonly seen: Request[]
  /** Forgets every session, as a server does that is started again. */
  forget(): void
  /** Has another definition of a tool, and says so, or loses those who would hear of it. */
  change(how: 'told' | 'lost'): void
  close(): Promise<void>
}

type Handler = (request: Request) => Promise<Response>

export async function givenHttp(revisions: 'both' | 'modern' | 'legacy'): Promise<GivenHttp> {
  const seen: Request[] = []
  const sessions = new Map<string, Handler>()
  let hasChanged = false
  const legacy = revisions === 'modern' ? 'reject' : 'stateless'
  const modern = createMcpHandler(() => makeServer(hasChanged), { legacy })
  const handle: Handler = revisions === 'legacy' ? (request) => inSession(sessions, request) : modern.fetch
  const server = createServer(
    getRequestListener((request) => {
      seen.push(request.clone())
      return handle(request)
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  const change = (how: 'told' | 'lost') => {
    hasChanged = true
    if (how === 'told') modern.notify.toolsChanged()
    else server.closeAllConnections()
  }
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/mcp`, seen, forget: () => sessions.clear(), change, close }
}

async function inSession(sessions: Map<string, Handler>, request: Request): Promise<Response> {
  const id = request.headers.get('mcp-session-id')
  if (id !== null) return sessions.get(id)?.(request) ?? new Response('no such session', { status: 404 })
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (made) => void sessions.set(made, (next) => transport.handleRequest(next)),
  })
  await makeServer().connect(transport)
  return transport.handleRequest(request)
}
