import { Failure } from '../base/failure.ts'
import { json } from './answer.ts'
import { readBody } from './body.ts'
import { problem, type Route, type VisitorAsk } from './route.ts'
import { streamed } from './stream.ts'

export const invokeRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/invoke',
    summary: 'Decides about one call and carries it out. Whatever came of it is answered with 200.',
    body: 'invocation-envelope-received',
    answers: { 200: [{ schema: 'invocation-result' }, { type: 'text/event-stream' }] },
    handle: invoke,
  },
  {
    method: 'POST',
    path: '/v1/preview',
    summary: 'What would be decided about a call now: no effect, no evidence.',
    body: 'invocation-envelope-received',
    answers: { 200: { schema: 'call-preview' } },
    handle: async (ask) => json(await ask.deps.host.gateway.preview(ask.visitor.caller, await readBody(ask))),
  },
  {
    method: 'GET',
    path: '/v1/invocations/:id',
    summary: "The recorded result of the caller's own call; of one that runs, that it does.",
    answers: { 200: { schema: 'invocation-result' }, 404: problem, 503: problem },
    handle: async ({ deps: { host }, visitor, param }) => {
      const result = await host.gateway.recorded(visitor.caller, param('id'))
      if (result === undefined) throw new Failure('invocation.not_found', 'no result of this id is on record')
      return json(result)
    },
  },
]

async function invoke(ask: VisitorAsk): Promise<Response> {
  const { deps, visitor, traced } = ask
  const envelope = await readBody(ask)
  await deps.gathered()
  const span = traced.invocation()
  const ended = (outcome: string, denial?: string): void => {
    span.ended(outcome, denial)
    deps.counts.invocation(outcome)
  }
  if (envelope['mode'] === 'stream') return streamed(ask, envelope, ended)
  try {
    const { result } = await deps.host.gateway.invoke(visitor.caller, envelope)
    ended(result.outcome, result.denial?.code)
    return json(result)
  } catch (error) {
    ended('refused')
    throw error
  }
}
