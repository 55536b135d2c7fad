import type { Operable } from './ambit.ts'
import { makeApi, operation, type Perform } from './operation.ts'

/** Every operation that a user has, at every door. */
export const operations = {
  call: operation('call', 'POST /v1/call', 'call-request', 'invocation-result', {
    summary: 'Calls one capability through the gateway. A refusal is a result.',
    args: ['capability', 'payload'],
  }),
  preview: operation('call', 'POST /v1/preview', 'call-request', 'call-preview', {
    summary: 'What would be decided about a call now: no effect, no evidence.',
    args: ['capability', 'payload'],
  }),
  explain: operation('audit', 'GET /v1/explain/:id', 'event-name', 'explanation'),
  compile: operation('call', 'POST /v1/compile', 'compile-request', 'compiled-context', { args: ['request'] }),
  invokeAgent: operation('call', 'POST /v1/invoke', 'invoke-agent-request', 'invoke-answer', { args: ['request'] }),
  decisions: {
    list: operation('call', 'GET /v1/decisions', 'decision-query', 'decision-list', { args: [] }),
    show: operation('call', 'GET /v1/decisions/:id', 'decision-name', 'decision-record', {
      summary: 'A decision record in its newest version.',
    }),
    history: operation('call', 'GET /v1/decisions/:id/history', 'decision-name', 'decision-history'),
  },
  replay: {
    run: operation('call', 'POST /v1/replay/:id', 'decision-name', 'replay-report', {
      summary: 'Decides a recorded run again from its record alone, without any effect.',
    }),
    compare: operation('call', 'POST /v1/replay', 'comparison-request', 'comparison-list'),
  },
  packs: {
    validate: operation('call', 'POST /v1/packs/validate', 'pack-request', 'pack-report', {
      summary: 'Says everything that is wrong with a pack, each with its place.',
      args: ['document'],
    }),
    sign: operation('administer', 'POST /v1/packs/sign', 'pack-request', 'pack-document', {
      summary: "Signs a pack with the tenant's key.",
      args: ['document'],
    }),
    publish: operation('administer', 'POST /v1/packs', 'pack-request', 'pack-record', {
      summary: 'Publishes a signed pack for good: its version never means anything else.',
      args: ['document'],
    }),
    list: operation('call', 'GET /v1/packs', 'page-request', 'pack-list'),
    show: operation('call', 'GET /v1/packs/:ref', 'pack-name', 'pack-record'),
  },
  artifacts: {
    add: operation('call', 'POST /v1/artifacts', 'artifact-request', 'artifact'),
    list: operation('call', 'GET /v1/artifacts', 'page-request', 'artifact-list'),
  },
  invocations: {
    show: operation('call', 'GET /v1/invocations/:id', 'call-name', 'invocation-result'),
  },
  capabilities: {
    list: operation('call', 'GET /v1/capabilities', 'no-input', 'capability-list'),
    show: operation('call', 'GET /v1/capabilities/:id', 'capability-name', 'capability-list', {
      summary: 'One capability, every version of it.',
    }),
  },
  agents: {
    list: operation('call', 'GET /v1/agents', 'no-input', 'agent-list'),
  },
  runs: {
    start: operation('call', 'POST /v1/runs', 'run-request', 'run-record', {
      args: ['agent', 'input'],
      creates: 'run_id',
    }),
    list: operation('call', 'GET /v1/runs', 'run-query', 'run-list'),
    show: operation('call', 'GET /v1/runs/:id', 'run-name', 'run-record'),
    events: operation('call', 'GET /v1/runs/:id/events', 'run-watch', 'run-event', {
      summary: 'The events of a run as they come, until it has ended.',
      stream: true,
      resumes: 'event_id',
    }),
    explain: operation('call', 'GET /v1/runs/:id/explanation', 'run-name', 'run-explanation'),
    export: operation('call', 'GET /v1/runs/:id/export', 'run-name', 'run-export'),
    cancel: operation('call', 'POST /v1/runs/:id/control', 'run-control', 'run-record'),
    resume: operation('call', 'POST /v1/runs/:id/resume', 'run-name', 'run-record', {
      summary: 'Takes up a run that waits, or that was left where it was.',
    }),
  },
  grants: {
    revoke: operation('mint', 'POST /v1/grants/revoke', 'revocation-request', 'revocation-report', {
      args: ['by', 'target'],
    }),
  },
  memory: {
    list: operation('audit', 'GET /v1/memory', 'memory-query', 'memory-list', { args: ['scope'] }),
    read: operation('audit', 'GET /v1/memory/:id', 'memory-name', 'memory-entry'),
    forget: operation('administer', 'POST /v1/memory/:id/forget', 'memory-forget-request', 'memory-entry'),
    erase: operation('administer', 'POST /v1/memory/erase', 'erase-request', 'erase-receipt', { args: ['scope'] }),
  },
  approvals: {
    list: operation('call', 'GET /v1/approvals', 'approval-query', 'approval-list'),
    show: operation('call', 'GET /v1/approvals/:id', 'approval-name', 'approval-request'),
    decide: operation('decide', 'POST /v1/approvals/:id/decision', 'approval-decision-request', 'approval-request', {
      args: ['id', 'decision'],
    }),
    watch: operation('call', 'GET /v1/approvals/events', 'approval-watch', 'approval-request', {
      summary: 'New requests for approval as they come.',
      stream: true,
    }),
  },
  evidence: {
    list: operation('audit', 'GET /v1/evidence', 'evidence-query', 'evidence-list'),
    show: operation('audit', 'GET /v1/evidence/events/:id', 'event-name', 'evidence-event', {
      summary: 'One event, whole.',
    }),
    export: operation('call', 'GET /v1/evidence/bundles/:correlation', 'correlation-name', 'evidence-bundle', {
      summary: 'Everything of one correlation as a signed bundle that verifies offline.',
    }),
    heads: operation('audit', 'GET /v1/evidence/heads', 'page-request', 'head-list'),
    purge: operation('audit', 'POST /v1/evidence/purge', 'purge-request', 'purge-report'),
  },
  principals: {
    create: operation('administer', 'POST /v1/principals', 'principal-request', 'principal', { args: ['id'] }),
    list: operation('audit', 'GET /v1/principals', 'page-request', 'principal-list'),
    permit: operation('administer', 'POST /v1/principals/:id/permit', 'permission-request', 'principal', {
      summary: 'Gives a principal a permission that capabilities may demand.',
      args: ['id', 'permission'],
    }),
    withdraw: operation('administer', 'POST /v1/principals/:id/withdraw', 'permission-request', 'principal', {
      summary: 'Takes a permission back from a principal.',
      args: ['id', 'permission'],
    }),
    rotate: operation('administer', 'POST /v1/principals/:id/rotate', 'principal-name', 'issued-key', {
      summary: 'Gives the principal one new API key and ends all its others.',
    }),
    revoke: operation('administer', 'POST /v1/principals/:id/revoke', 'principal-name', 'principal', {
      summary: 'Ends a principal: none of its keys is accepted any more.',
    }),
  },
  keys: {
    create: operation('administer', 'POST /v1/keys', 'key-request', 'issued-key', { args: ['principal'] }),
    list: operation('audit', 'GET /v1/keys', 'page-request', 'key-list'),
    rotate: operation('administer', 'POST /v1/keys/:id/rotate', 'key-rotation-request', 'issued-key'),
    revoke: operation('administer', 'POST /v1/keys/:id/revoke', 'key-name', 'key-end', {
      summary: 'Ends an API key at once.',
    }),
  },
  approvers: {
    add: operation('administer', 'POST /v1/approvers', 'approver-request', 'approver', { args: ['principal'] }),
    list: operation('audit', 'GET /v1/approvers', 'page-request', 'approver-list'),
    revoke: operation('administer', 'POST /v1/approvers/:id/revoke', 'principal-name', 'approver-end', {
      summary: 'Ends an approver: this person decides about nothing, and earlier votes no longer count.',
    }),
  },
  secrets: {
    set: operation('administer', 'POST /v1/secrets', 'secret-request', 'kept-secret', { args: ['name', 'value'] }),
    list: operation('audit', 'GET /v1/secrets', 'no-input', 'secret-list'),
    remove: operation('administer', 'POST /v1/secrets/:name/remove', 'secret-name', 'secret-end', {
      summary: 'Forgets a secret.',
    }),
  },
  tenants: {
    identity: operation('public', 'GET /v1/tenants/:id/identity', 'tenant-name', 'identity-document'),
    rotate: operation('administer', 'POST /v1/tenants/:id/rotate', 'tenant-rotation-request', 'key-rotation'),
    revoke: operation('administer', 'POST /v1/tenants/:id/revoke', 'tenant-name', 'tenant', {
      summary: 'Suspends a tenant: none of its keys opens anything.',
    }),
    resume: operation('administer', 'POST /v1/tenants/:id/resume', 'tenant-name', 'tenant', {
      summary: 'Lets a suspended tenant work again.',
    }),
  },
}

/** The object that users hold: the compiler holds the table to the interface that is written by hand. */
export const operable = (perform: Perform): Omit<Operable, 'run'> => makeApi(operations, perform)
