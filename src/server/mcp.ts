import type { McpHttp, McpHttpDeps } from '../mcp/http.ts'
import { readBody } from './body.ts'
import { checkSameOrigin } from './headers.ts'
import type { Route } from './route.ts'

export const mcpRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/mcp',
    summary: 'The Model Context Protocol, revisions 2026-07-28 and 2025-11-25, over streamable HTTP.',
    answers: { 200: [{}, { type: 'text/event-stream' }], 202: [], 400: {}, 404: {}, 406: {} },
    handle: async (ask) => {
      checkSameOrigin(ask.request.headers)
      const body = await readBody(ask)
      return (await ask.deps.mcp()).fetch(ask.request, body, { caller: ask.visitor.caller, until: ask.until })
    },
  },
]

/** Loaded when the first client comes: most hosts never see one. */
export function lazyMcp(deps: McpHttpDeps) {
  let opened: Promise<McpHttp> | undefined
  return {
    open: (): Promise<McpHttp> => {
      opened ??= import('../mcp/http.ts').then(({ openMcpHttp }) => openMcpHttp(deps))
      return opened
    },
    close: async () => (await opened)?.close(),
  }
}
