import { operation } from './operation.ts'

export const approvals = {
  approvals: {
    list: operation('call', 'The requests that wait for this caller, newest first.', {
      route: 'GET /v1/approvals',
      schemas: ['approval-query', 'approval-list'],
    }),
    show: operation('call', 'One request for approval.', {
      route: 'GET /v1/approvals/:id',
      schemas: ['approval-name', 'approval-request'],
    }),
    decide: operation('decide', 'A yes or no to one request; an edit is a yes to another payload.', {
      route: 'POST /v1/approvals/:id/decision',
      schemas: ['approval-decision-request', 'approval-request'],
      args: ['id', 'decision'],
    }),
    watch: operation('call', 'New requests for approval as they come.', {
      route: 'GET /v1/approvals/events',
      schemas: ['approval-watch', 'approval-request'],
      stream: true,
    }),
  },
}
