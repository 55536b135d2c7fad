import { Failure } from '../base/failure.ts'
import { json } from './answer.ts'
import { readBody } from './body.ts'
import type { Route } from './route.ts'

export const invocationRoutes: readonly Route[] = [
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
    summary: "The recorded result of the caller's own call.",
    answers: {
      200: { schema: 'invocation-result' },
      404: { schema: 'problem', type: 'application/problem+json' },
    },
    handle: async ({ deps: { host }, visitor, param }) => {
      const result = await host.gateway.recorded(visitor.caller, param('id'))
      if (result === undefined) throw new Failure('invocation.not_found', 'no result of this id is on record')
      return json(result)
    },
  },
]
