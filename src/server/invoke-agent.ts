import type { InvokeAnswer } from '../model/requests.ts'
import { isEnded } from '../model/run.ts'
import { operations } from '../operations/table.ts'
import type { OperationContext } from '../runtime/operations/context.ts'
import { openItems } from '../runtime/operations/perform.ts'
import { json } from './answer.ts'
import { resumeAfter } from './invoke.ts'
import type { Answer, RouteRequest } from './route.ts'
import { streamItems } from './stream.ts'

export const agentAnswers: Readonly<Record<number, Answer | readonly Answer[]>> = {
  200: [{ schema: 'invoke-answer' }, { schema: 'run-event', type: 'text/event-stream' }],
  202: { schema: 'invoke-answer' },
  409: { schema: 'problem', type: 'application/problem+json' },
}

/**
 * The answer to a request of an agent: 200 once its run has ended, 202 while it goes on or waits for people. In mode
 * `stream` it is the events of the run, after the one that `Last-Event-ID` names, unless the caller takes JSON alone.
 */
export async function answerAgent(
  request: RouteRequest,
  context: OperationContext,
  answer: InvokeAnswer,
): Promise<Response> {
  const { run_id: id, mode, status } = answer
  const { headers } = request.request
  if (mode !== 'stream' || !takesEvents(headers))
    return json(answer, isEnded(status) ? 200 : 202, { location: `/v1/runs/${id}` })
  const since = Math.max(0, resumeAfter(headers.get('last-event-id')))
  const { events } = operations.runs
  return streamItems(
    request,
    (signal) => openItems({ ...context, signal }, ['runs', 'events'], events, { id, since }),
    events.resumes,
  )
}

const takesEvents = (headers: Headers): boolean =>
  /text\/event-stream|text\/\*|\*\/\*/.test(headers.get('accept') ?? '*/*')
