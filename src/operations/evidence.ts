import { operation } from './operation.ts'

export const evidence = {
  evidence: {
    list: operation({
      summary: 'Searches events, newest first.',
      route: 'GET /v1/evidence',
      right: 'audit',
      input: 'evidence-query',
      output: 'evidence-list',
    }),
    show: operation({
      summary: 'One event, whole.',
      route: 'GET /v1/evidence/events/:id',
      right: 'audit',
      args: ['id'],
      input: 'event-name',
      output: 'evidence-event',
    }),
    export: operation({
      summary: 'Everything of one correlation as a signed bundle that verifies offline.',
      route: 'GET /v1/evidence/bundles/:correlation',
      right: 'call',
      args: ['correlation'],
      input: 'correlation-name',
      output: 'evidence-bundle',
    }),
    heads: operation({
      summary: 'The signed heads of the log, newest first.',
      route: 'GET /v1/evidence/heads',
      right: 'audit',
      input: 'page-request',
      output: 'head-list',
    }),
    purge: operation({
      summary: 'Removes whole correlations for good; signed heads still hold.',
      route: 'POST /v1/evidence/purge',
      right: 'audit',
      input: 'purge-request',
      output: 'purge-report',
    }),
  },
  explain: operation({
    summary: 'Why one call ended as it did, from its record: by the id of the call or of one of its events.',
    route: 'GET /v1/explain/:id',
    right: 'audit',
    args: ['id'],
    input: 'event-name',
    output: 'explanation',
  }),
}
