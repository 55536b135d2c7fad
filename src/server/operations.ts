import { canonical, type Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { jsonSchemaOf } from '../model/schemas.ts'
import { type Operation, routeOf, walkOperations } from '../operations/operation.ts'
import { operations } from '../operations/table.ts'
import { anonymous } from '../runtime/identity/caller.ts'
import type { OperationContext } from '../runtime/operations/context.ts'
import { performOperation } from '../runtime/operations/perform.ts'
import { always, failed, json } from './answer.ts'
import { readBody } from './body.ts'
import { type Ask, problem, type Route, type VisitorAsk } from './route.ts'

/** A route for each operation. Paths without parts that vary come first: they would match the others too. */
export const operationRoutes: readonly Route[] = [...walkOperations(operations)]
  .map(([names, operation]) => routeFor(names, operation))
  .toSorted((a, b) => Number(a.path.includes(':')) - Number(b.path.includes(':')))

function routeFor(names: readonly string[], operation: Operation): Route {
  const { method, path } = routeOf(operation)
  const described = {
    method,
    path,
    summary: operation.summary,
    operation: { name: names.join('.'), ...operation },
    answers: {
      200: { schema: operation.output, ...(operation.stream && { type: 'text/event-stream' }) },
      400: problem,
      ...(operation.right !== 'public' && { 403: problem }),
      404: problem,
    },
  }
  const answer = async (ask: Ask, context: OperationContext): Promise<Response> => {
    const input = await inputOf(ask, operation)
    if (names.length === 1 && names[0] === 'call')
      return called(ask, performOperation(context, names, operation, input))
    if (!operation.stream) return json((await performOperation(context, names, operation, input)) as object)
    return streamed(ask, (signal) => performOperation({ ...context, signal }, names, operation, input))
  }
  return operation.right === 'public'
    ? { ...described, public: true, handle: (ask) => answer(ask, publicContext(ask)) }
    : { ...described, handle: (ask) => answer(ask, contextOf(ask)) }
}

const contextOf = ({ deps: { ambit, host }, visitor: { tenant, caller, reads, administers } }: VisitorAsk) => ({
  ambit,
  by: caller,
  host: async () => host,
  caller: {
    tenant,
    subject: caller.subject ?? anonymous(tenant).subject,
    scopes: caller.scopes,
    rights: [...(administers ? (['administer'] as const) : []), ...(reads === 'all' ? (['audit'] as const) : [])],
    permissions: caller.permissions,
    revokedPermissions: caller.revokedPermissions,
  },
})

function publicContext({ deps: { ambit, host } }: Ask): OperationContext {
  const by = { subject: null, name: 'public', scopes: [], permissions: [], revokedPermissions: [] }
  return { ambit, by, host: async () => host, caller: { ...anonymous(host.tenant), rights: [] } }
}

/** The input of an operation: members of the path, with the body or the query; none of them twice. */
async function inputOf(ask: Ask, operation: Operation): Promise<Record<string, unknown>> {
  const { method, inPath } = routeOf(operation)
  const rest = method === 'POST' ? await readBody(ask) : readQuery(ask, operation)
  const given = Object.fromEntries(inPath.map((name) => [name, ask.param(name)]))
  const twice = inPath.find((name) => Object.hasOwn(rest, name))
  if (twice === undefined) return { ...rest, ...given }
  throw new Failure('field.invalid', `\`/${twice}\` stands in the path already`, { pointer: `/${twice}` })
}

/** A query is text: numbers and truth values become what the shape of the input says they are. */
function readQuery(ask: Ask, { input }: Operation): Record<string, unknown> {
  const types = typesOf(input)
  const entries = [...ask.query()].map(([name, text]): [string, unknown] => [name, readValue(text, types[name]?.type)])
  const query = Object.fromEntries(entries)
  if (Object.keys(query).length === entries.length) return query
  throw new Failure('field.invalid', 'query: a member is given twice', { pointer: '' })
}

const typesOf = (schema: string) =>
  (jsonSchemaOf(schema)['properties'] ?? {}) as Readonly<Record<string, { readonly type?: string }>>

function readValue(text: string, type: string | undefined): unknown {
  if (type === 'integer' || type === 'number') return /^\d{1,15}$/.test(text) ? Number(text) : text
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** A call is counted and traced as one, and goes on with the others of this moment. */
async function called({ deps, traced }: Ask, calling: unknown): Promise<Response> {
  const span = traced.invocation()
  const ended = (outcome: string, denial?: string): void => {
    span.ended(outcome, denial)
    deps.counts.invocation(outcome)
  }
  try {
    const result = (await calling) as { outcome: string; denial?: { code: string } | null }
    ended(result.outcome, result.denial?.code)
    return json(result)
  } catch (error) {
    ended('refused')
    throw error
  }
}

/** Items as they come, one frame each, until the caller leaves or the server closes. */
function streamed(ask: Ask, open: (signal: AbortSignal) => unknown): Response {
  const leaving = new AbortController()
  const signal = AbortSignal.any([leaving.signal, ask.deps.closing])
  const items = (open(signal) as AsyncIterable<Json>)[Symbol.asyncIterator]()
  const utf8 = new TextEncoder()
  const over = Promise.withResolvers<void>()
  ask.until(over.promise)
  let count = 0
  const frame = (event: string, data: Json) =>
    utf8.encode(`id: ${count++}\nevent: ${event}\ndata: ${canonical(data)}\n\n`)
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await items.next()
        if (!done) return controller.enqueue(frame('item', value))
      } catch (error) {
        controller.enqueue(frame('error', (await failed(error, { ours: true }).json()) as Json))
      }
      over.resolve()
      controller.close()
    },
    cancel: () => {
      leaving.abort()
      over.resolve()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream', ...always } })
}
