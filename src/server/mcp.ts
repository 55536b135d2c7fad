import type { McpHttp } from '../mcp/http.ts'
import type { McpOptions } from '../mcp/server.ts'
import type { AmbitHost } from '../runtime/hosting/host.ts'
import { agentToolFor } from '../runtime/operations/agent-tool.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { checkSameOrigin } from './access.ts'
import { readBody } from './input.ts'
import { contextOf, type Route } from './route.ts'

export const mcpRoute: Route = {
  method: 'POST',
  path: '/mcp',
  summary: 'The Model Context Protocol, revisions 2026-07-28 and 2025-11-25, over streamable HTTP.',
  answers: { 200: [{}, { type: 'text/event-stream' }], 202: [], 400: {}, 404: {}, 406: {} },
  handle: async (asked) => {
    const { request, by: caller, until } = asked
    checkSameOrigin(request.headers)
    const body = await readBody(asked)
    return (await asked.mcp(asked.host)).fetch(request, body, {
      ...{ caller, until },
      agent: () => agentToolFor(contextOf(asked)),
    })
  },
}

/** The MCP doors of all tenants: each is opened when the first client of its tenant comes, and ends with the tenant's host. */
export function openMcpDoors(ambit: Runtime, options: McpOptions) {
  const doors = new Map<AmbitHost, Promise<McpHttp>>()
  let isClosed = false
  const open = (host: AmbitHost): Promise<McpHttp> => {
    // Loaded late: most servers never see an MCP client.
    const opening = import('../mcp/http.ts').then(({ openMcpHttp }) => openMcpHttp(ambit, host, options))
    const close = async (): Promise<void> => (await opening).close()
    if (isClosed) void close()
    doors.set(host, opening)
    const end = (): void => {
      doors.delete(host)
      void close()
    }
    host.closing.addEventListener('abort', end, { once: true })
    return opening
  }
  return {
    for: (host: AmbitHost): Promise<McpHttp> => doors.get(host) ?? open(host),
    close: async (): Promise<void> => {
      isClosed = true
      await Promise.all([...doors.values()].map(async (door) => (await door).close()))
    },
  }
}
