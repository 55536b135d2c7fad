import { operation } from './operation.ts'

export const calls = {
  call: operation({
    summary: 'Calls one capability through the gateway. A refusal is a result.',
    route: 'POST /v1/call',
    right: 'call',
    args: ['capability', 'payload'],
    input: 'call-request',
    output: 'invocation-result',
  }),
  preview: operation({
    summary: 'What would be decided about a call now: no effect, no evidence.',
    route: 'POST /v1/preview',
    right: 'call',
    args: ['capability', 'payload'],
    input: 'call-request',
    output: 'call-preview',
  }),
  invocations: {
    show: operation({
      summary: "The recorded result of the caller's own call; of one that runs, that it does.",
      route: 'GET /v1/invocations/:id',
      right: 'call',
      args: ['id'],
      input: 'call-name',
      output: 'invocation-result',
    }),
  },
  capabilities: {
    list: operation({
      summary: 'What this caller may call.',
      route: 'GET /v1/capabilities',
      right: 'call',
      input: 'no-input',
      output: 'capability-list',
    }),
    show: operation({
      summary: 'One capability, every version of it.',
      route: 'GET /v1/capabilities/:id',
      right: 'call',
      args: ['id'],
      input: 'capability-name',
      output: 'capability-list',
    }),
  },
}
