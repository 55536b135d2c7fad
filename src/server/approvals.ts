import { Failure } from '../base/failure.ts'
import { approvalState } from '../model/approval.ts'
import { parseAs } from '../model/parse.ts'
import { approvalDecision } from '../model/wire/wire.ts'
import { approvalFor, approvalsFor, type QueueReader } from '../runtime/approvals/queue.ts'
import { json } from './answer.ts'
import { readBody } from './body.ts'
import { pageOf, pageQuery } from './page.ts'
import { problem, type Route, type VisitorAsk } from './route.ts'

export const approvalRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/approvals',
    summary: 'The requests that wait for this caller, newest first.',
    query: ['state', ...pageQuery],
    answers: { 200: { schema: 'approval-list' } },
    handle: listed,
  },
  {
    method: 'GET',
    path: '/v1/approvals/:id',
    summary: 'One request for approval.',
    answers: { 200: { schema: 'approval-request' }, 404: problem },
    handle: async (ask) => json(await approvalFor(ask.deps.ambit, readerOf(ask), ask.param('id'))),
  },
  {
    method: 'POST',
    path: '/v1/approvals/:id/decision',
    summary: 'A yes or no to one request.',
    body: 'approval-decision',
    answers: { 200: { schema: 'approval-request' }, 403: problem, 404: problem, 409: problem, 410: problem },
    handle: decided,
  },
]

async function listed(ask: VisitorAsk): Promise<Response> {
  const state = ask.query().get('state')
  const filter = state === null ? {} : { state: parseAs(approvalState, state, 'state') }
  return json(await approvalsFor(ask.deps.ambit, readerOf(ask), filter, pageOf(ask)))
}

async function decided(ask: VisitorAsk): Promise<Response> {
  const { subject, scopes } = ask.visitor.caller
  const wish = parseAs(approvalDecision, await readBody(ask), 'decision')
  // A key for some capabilities is for calling them, not for deciding about what others call.
  if (subject === null || scopes.length > 0)
    throw new Failure('approver.not_permitted', 'only a caller with a name and an unlimited key may decide')
  return json(await ask.deps.host.gateway.decide(ask.param('id'), { principal: subject.id, subject }, wish))
}

const readerOf = ({ deps: { host }, visitor: { caller, reads } }: VisitorAsk): QueueReader => ({
  tenant: host.tenant,
  principal: caller.subject?.id ?? null,
  all: reads === 'all',
})
