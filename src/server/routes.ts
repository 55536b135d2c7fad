import { answerInvoke } from './invoke.ts'
import { mcpRoute } from './mcp.ts'
import { openapi } from './openapi.ts'
import { operationRoutes } from './operations.ts'
import { protocolRoutes } from './protocol.ts'
import type { Route } from './route.ts'

/** Every endpoint there is. */
export const routes: readonly Route[] = [
  ...protocolRoutes,
  {
    method: 'POST',
    path: '/invoke',
    summary: 'Decides about one call and carries it out. Whatever came of it is answered with 200.',
    body: 'invocation-envelope-received',
    answers: { 200: [{ schema: 'invocation-result' }, { type: 'text/event-stream' }] },
    handle: answerInvoke,
  },
  ...operationRoutes,
  mcpRoute,
  {
    method: 'GET',
    path: '/v1/openapi.json',
    summary: 'This description.',
    answers: { 200: {} },
    handle: () => openapi(routes),
  },
]
