import { type Operation, routeOf, walkOperations } from '../operations/operation.ts'
import { operations } from '../operations/table.ts'
import { performOperation } from '../runtime/operations/perform.ts'
import { json } from './answer.ts'
import { readInput } from './input.ts'
import { answerCall } from './invoke.ts'
import { problem, type Route, type RouteRequest } from './route.ts'
import { streamItems } from './stream.ts'

/** A route for each operation. Paths without parts that vary come first: they would match the others too. */
export const operationRoutes: readonly Route[] = [...walkOperations(operations)]
  .map(([names, operation]) => routeFor(names, operation))
  .toSorted((a, b) => Number(a.path.includes(':')) - Number(b.path.includes(':')))

function routeFor(names: readonly string[], operation: Operation): Route {
  const name = names.join('.')
  const isPublic = operation.right === 'public'
  const handle = async (request: RouteRequest): Promise<Response> => {
    const input = await readInput(request, operation)
    const perform = (signal = request.closing) =>
      performOperation({ ...request, host: async () => request.host, signal }, names, operation, input)
    if (name === 'call') return answerCall(request, perform)
    return operation.stream ? streamItems(request, perform) : json((await perform()) as object)
  }
  return {
    ...routeOf(operation),
    summary: operation.summary,
    public: isPublic,
    operation: { name, ...operation },
    answers: {
      200: { schema: operation.output, ...(operation.stream && { type: 'text/event-stream' }) },
      400: problem,
      ...(!isPublic && { 403: problem }),
      404: problem,
    },
    handle,
  }
}
