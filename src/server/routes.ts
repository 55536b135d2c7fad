import { json } from './answer.ts'
import { evidenceRoutes } from './evidence.ts'
import { hostRoutes } from './host.ts'
import { invokeRoutes } from './invoke.ts'
import { mcpRoutes } from './mcp.ts'
import { openapi } from './openapi.ts'
import { operationRoutes } from './operations.ts'
import type { Route } from './route.ts'
import { statementRoutes } from './statements.ts'

/** Every endpoint there is. */
export const routes: readonly Route[] = [
  ...hostRoutes,
  ...invokeRoutes,
  ...evidenceRoutes,
  ...statementRoutes,
  ...operationRoutes,
  ...mcpRoutes,
  {
    method: 'GET',
    path: '/v1/openapi.json',
    summary: 'This description.',
    answers: { 200: {} },
    handle: () => json(openapi(routes)),
  },
]
