import { json } from './answer.ts'
import { readBody } from './body.ts'
import type { Route, VisitorAsk } from './route.ts'
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
