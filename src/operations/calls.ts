import { operation } from './operation.ts'

export const calls = {
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
}
