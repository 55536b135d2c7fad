import type { Json } from '../base/canonical.ts'
import type { InvokeAnswer } from '../model/requests.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { type Operation, routeOf, walkOperations } from '../operations/operation.ts'
import { summaryOf } from '../operations/summary.ts'
import { operations } from '../operations/table.ts'
import { openItems, performOperation } from '../runtime/operations/perform.ts'
import { json } from './answer.ts'
import { readInput } from './input.ts'
import { answerInvoke, trackCall } from './invoke.ts'
import { agentAnswers, answerAgent } from './invoke-agent.ts'
import { mcpRoute } from './mcp.ts'
import { openapi } from './openapi.ts'
import { protocolRoutes } from './protocol.ts'
import { contextOf, problem, type Route, type RouteRequest } from './route.ts'
import { streamItems } from './stream.ts'

/** A route for each operation. Paths without parts that vary come first: they would match the others too. */
const operationRoutes: readonly Route[] = [...walkOperations(operations)]
  .map(([names, operation]) => routeFor(names, operation))
  .toSorted((a, b) => Number(a.path.includes(':')) - Number(b.path.includes(':')))

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

function routeFor(names: readonly string[], operation: Operation): Route {
  const { right, output, stream, creates, resumes } = operation
  const name = names.join('.')
  const handle = async (request: RouteRequest): Promise<unknown> => {
    const input = await readInput(request, operation)
    const context = { ...contextOf(request), recordsRefusals: true }
    if (stream)
      return streamItems(request, (signal) => openItems({ ...context, signal }, names, operation, input), resumes)
    const perform = () => performOperation({ ...context, signal: request.closing }, names, operation, input)
    if (name === 'call')
      return (await trackCall(request, async () => ({ result: (await perform()) as InvocationResult }))).result
    if (name === 'invokeAgent') return answerAgent(request, context, (await perform()) as InvokeAnswer)
    return creates === undefined ? perform() : created(operation, (await perform()) as Json)
  }
  return {
    ...routeOf(operation),
    summary: summaryOf(operation),
    public: right === 'public',
    operation: { name, ...operation },
    handle,
    answers: {
      ...(name === 'invokeAgent'
        ? agentAnswers
        : { [creates === undefined ? 200 : 201]: { schema: output, ...(stream && { type: 'text/event-stream' }) } }),
      400: problem,
      ...(right !== 'public' && { 403: problem }),
      404: problem,
    },
  }
}

/** What was made, with its address. */
function created(operation: Operation, answer: Json): Response {
  const id = (answer as Readonly<Record<string, Json>>)[operation.creates ?? '']
  return json(answer as object, 201, { location: `${routeOf(operation).path}/${encodeURIComponent(String(id))}` })
}
