import { operation } from './operation.ts'

export const runs = {
  agents: {
    list: operation('call', 'The agents that are here.', {
      route: 'GET /v1/agents',
      schemas: ['no-input', 'agent-list'],
    }),
  },
  runs: {
    start: operation('call', 'Starts a run of an agent. Naming grants needs the right to mint.', {
      route: 'POST /v1/runs',
      schemas: ['run-request', 'run-record'],
      args: ['agent', 'input'],
      creates: 'run_id',
    }),
    list: operation('call', 'Runs, newest first: your own, or all with the right to audit.', {
      route: 'GET /v1/runs',
      schemas: ['run-query', 'run-list'],
    }),
    show: operation('call', 'One run with its authority, status and result.', {
      route: 'GET /v1/runs/:id',
      schemas: ['run-name', 'run-record'],
    }),
    events: operation('call', 'The events of a run as they come, until it has ended.', {
      route: 'GET /v1/runs/:id/events',
      schemas: ['run-watch', 'run-event'],
      stream: true,
      resumes: 'event_id',
    }),
    cancel: operation('call', 'Ends a run and all runs below it.', {
      route: 'POST /v1/runs/:id/control',
      schemas: ['run-control', 'run-record'],
      args: ['id'],
    }),
    resume: operation('call', 'Takes up a run that waits, or that was left where it was.', {
      route: 'POST /v1/runs/:id/resume',
      schemas: ['run-name', 'run-record'],
    }),
  },
  grants: {
    revoke: operation('mint', 'Ends a grant, all grants of a run or a subject, or all at or below a path.', {
      route: 'POST /v1/grants/revoke',
      schemas: ['revocation-request', 'revocation-report'],
      args: ['by', 'target'],
    }),
  },
  memory: {
    list: operation('audit', 'What is remembered in exactly one scope, newest first.', {
      route: 'GET /v1/memory',
      schemas: ['memory-query', 'memory-list'],
      args: ['scope'],
    }),
    read: operation('audit', 'One entry, with what was done with it and by whom.', {
      route: 'GET /v1/memory/:id',
      schemas: ['memory-name', 'memory-entry'],
    }),
    forget: operation('administer', 'Takes one entry out of every reading; it stays on record until an erase.', {
      route: 'POST /v1/memory/:id/forget',
      schemas: ['memory-forget-request', 'memory-entry'],
    }),
    erase: operation('administer', 'Removes what all providers keep in a scope, for good.', {
      route: 'POST /v1/memory/erase',
      schemas: ['erase-request', 'erase-receipt'],
      args: ['scope'],
    }),
  },
}
