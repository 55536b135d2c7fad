import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { CallRequest } from '../../model/requests.ts'
import type { ReceivedEnvelope } from '../../model/wire/invocation.ts'
import type { HandlersOf } from './context.ts'

export const callHandlers: HandlersOf<'call' | 'preview' | 'invocations' | 'capabilities'> = {
  call: async ({ host, by }, request) => (await (await host()).gateway.invoke(by, envelopeOf(request))).result,
  preview: async ({ host, by }, request) => (await host()).gateway.preview(by, envelopeOf(request)),
  invocations: {
    show: async ({ host, by }, { id }) => {
      const result = await (await host()).gateway.recorded(by, id)
      if (result !== undefined) return result
      throw new Failure('invocation.not_found', 'no result of this id is on record')
    },
  },
  capabilities: {
    list: async ({ host, by }) => ({ capabilities: [...(await host()).gateway.discover(by)] }),
    show: async ({ host, by }, { id }) => {
      const capabilities = (await host()).gateway.discover(by).filter((each) => each.id === id)
      if (capabilities.length > 0) return { capabilities }
      throw new Failure('capability.not_found', `capability ${quote(id)} not found`, { id })
    },
  },
}

/** The request as the envelope of the wire. */
export function envelopeOf(request: CallRequest): ReceivedEnvelope {
  const { capability, payload, id, purpose, correlation, environment, context } = request
  const metadata = defined({ context, purpose })
  const thread = defined({ correlation_id: correlation, environment })
  return defined({
    capability_id: capability,
    payload,
    invocation_id: id,
    correlation: Object.keys(thread).length > 0 ? thread : undefined,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
  })
}
