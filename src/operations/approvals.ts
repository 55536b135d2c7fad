import { operation } from './operation.ts'

export const approvals = {
  approvals: {
    list: operation({
      summary: 'The requests that wait for this caller, newest first.',
      route: 'GET /v1/approvals',
      right: 'call',
      input: 'approval-query',
      output: 'approval-list',
    }),
    show: operation({
      summary: 'One request for approval.',
      route: 'GET /v1/approvals/:id',
      right: 'call',
      args: ['id'],
      input: 'approval-name',
      output: 'approval-request',
    }),
    decide: operation({
      summary: 'A yes or no to one request; an edit is a yes to another payload.',
      route: 'POST /v1/approvals/:id/decision',
      right: 'decide',
      args: ['id', 'decision'],
      input: 'approval-decision-request',
      output: 'approval-request',
    }),
    watch: operation({
      summary: 'New requests for approval as they come.',
      route: 'GET /v1/approvals/events',
      right: 'call',
      input: 'approval-watch',
      output: 'approval-request',
      stream: true,
    }),
  },
}
