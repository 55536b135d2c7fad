import type { Operable } from './ambit.ts'
import { identity } from './identity.ts'
import { makeApi, operation, type Perform } from './operation.ts'

/** Every operation that a user has, at every door. */
export const operations = {
  call: operation('call', 'Calls one capability through the gateway. A refusal is a result.', {
    route: 'POST /v1/call',
    schemas: ['call-request', 'invocation-result'],
    args: ['capability', 'payload'],
  }),
  preview: operation('call', 'What would be decided about a call now: no effect, no evidence.', {
    route: 'POST /v1/preview',
    schemas: ['call-request', 'call-preview'],
    args: ['capability', 'payload'],
  }),
  invocations: {
    show: operation('call', "The recorded result of the caller's own call; of one that runs, that it does.", {
      route: 'GET /v1/invocations/:id',
      schemas: ['call-name', 'invocation-result'],
    }),
  },
  capabilities: {
    list: operation('call', 'What this caller may call.', {
      route: 'GET /v1/capabilities',
      schemas: ['no-input', 'capability-list'],
    }),
    show: operation('call', 'One capability, every version of it.', {
      route: 'GET /v1/capabilities/:id',
      schemas: ['capability-name', 'capability-list'],
    }),
  },
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
  evidence: {
    list: operation('audit', 'Searches events, newest first.', {
      route: 'GET /v1/evidence',
      schemas: ['evidence-query', 'evidence-list'],
    }),
    show: operation('audit', 'One event, whole.', {
      route: 'GET /v1/evidence/events/:id',
      schemas: ['event-name', 'evidence-event'],
    }),
    export: operation('call', 'Everything of one correlation as a signed bundle that verifies offline.', {
      route: 'GET /v1/evidence/bundles/:correlation',
      schemas: ['correlation-name', 'evidence-bundle'],
    }),
    heads: operation('audit', 'The signed heads of the log, newest first.', {
      route: 'GET /v1/evidence/heads',
      schemas: ['page-request', 'head-list'],
    }),
    purge: operation('audit', 'Removes whole correlations for good; signed heads still hold.', {
      route: 'POST /v1/evidence/purge',
      schemas: ['purge-request', 'purge-report'],
    }),
  },
  explain: operation(
    'audit',
    'Why one call ended as it did, from its record: by the id of the call or of one of its events.',
    {
      route: 'GET /v1/explain/:id',
      schemas: ['event-name', 'explanation'],
    },
  ),
  ...identity,
}

/** The object that users hold: the compiler holds the table to the interface that is written by hand. */
export const operable = (perform: Perform): Operable => makeApi(operations, perform)
