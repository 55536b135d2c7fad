import { Failure } from '../base/failure.ts'
import { defined } from '../base/object.ts'
import { connect } from '../client/connect.ts'
import { connectHost } from '../client/host.ts'
import { envelopeOf } from '../runtime/operations/calls.ts'
import type { Session } from './ambit.ts'

/** The Ambit behind an address. What is asked there ends with the signal. */
export function remoteSession(url: string, key: string | undefined, signal: AbortSignal): Session {
  if (!/^https?:\/\/\S+$/.test(url) || !URL.canParse(url))
    throw new Failure('field.invalid', '--url must be an address such as http://127.0.0.1:4770')
  const stoppable: typeof fetch = (asked, { signal: given, ...init } = {}) =>
    fetch(asked, { ...init, signal: AbortSignal.any([signal, given ?? []].flat()) })
  const client = connectHost(defined({ url, key }))
  return {
    ambit: connect(url, key, { fetch: stoppable }),
    place: url,
    hasKey: key !== undefined,
    hostId: async () => (await client.health()).host_id,
    stream: async (request, onChunk) => {
      for await (const event of client.stream(envelopeOf(request))) {
        if (event.type === 'result') return event.result
        onChunk(event.delta)
      }
      throw new Failure('answer.invalid', 'the host ended the stream without a result')
    },
  }
}
