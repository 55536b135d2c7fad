import { operation } from './operation.ts'

export const evidence = {
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
}
