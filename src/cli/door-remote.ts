import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { defined } from '../base/object.ts'
import { connect } from '../client/connect.ts'
import { connectHost, type HostClient } from '../client/host.ts'
import type { ReceivedEnvelope } from '../model/wire/invocation.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { wholeList } from '../runtime/pages.ts'
import type { Door } from './door.ts'

/** A host behind an address. */
export async function remoteDoor(url: string, key: string | undefined): Promise<Door> {
  if (!/^https?:\/\/\S+$/.test(url) || !URL.canParse(url))
    throw new Failure('field.invalid', '--url must be an address such as http://127.0.0.1:4770')
  const client = connectHost(defined({ url, key }))
  const ambit = connect(url, key)
  const { host_id: hostId } = await client.health()
  return {
    hostId,
    capabilities: () => client.capabilities(),
    invoke: (envelope, onChunk) =>
      envelope.mode === 'stream' ? streamed(client, envelope, onChunk) : client.invoke(envelope),
    approvals: (state) =>
      wholeList(async (page) => {
        const { approvals: items, next } = await ambit.approvals.list({ state, ...page })
        return defined({ items, next })
      }),
    approval: (id) => ambit.approvals.show(id),
    decide: (id, { decision, ...options }) => ambit.approvals.decide(id, decision, defined(options) as object),
  }
}

async function streamed(
  client: HostClient,
  envelope: ReceivedEnvelope,
  onChunk: (chunk: Json) => void,
): Promise<InvocationResult> {
  for await (const event of client.stream(envelope)) {
    if (event.type === 'result') return event.result
    onChunk(event.delta)
  }
  throw new Failure('answer.invalid', 'the host ended the stream without a result')
}
