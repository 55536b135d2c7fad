import { type Command, Option } from 'commander'
import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { defined } from '../base/object.ts'
import { connect } from '../client/connect.ts'
import { connectHost } from '../client/host.ts'
import type { CallRequest } from '../model/requests.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import type { Operable } from '../operations/ambit.ts'
import type { Operation } from '../operations/operation.ts'
import { envelopeOf } from '../runtime/operations/calls.ts'
import { type CommonOptions, withStore, withTenant } from './session.ts'
import type { Io } from './terminal/io.ts'

export interface AmbitOptions extends CommonOptions {
  readonly url?: string
  readonly key?: string
}

/** The Ambit that a command goes to: over the configured store in this process, or behind an address. */
export interface Session {
  readonly ambit: Operable
  /** Where it is, for people. */
  readonly place: string
  /** Whether the caller is known by a key. */
  readonly hasKey: boolean
  hostId(): Promise<string>
  /** As `ambit.call`, with the chunks of the result as they come. */
  stream(request: CallRequest, onChunk: (chunk: Json) => void): Promise<InvocationResult>
}

/** What is done there. */
export interface Errand {
  readonly path: readonly string[]
  readonly operation: Operation
  /** Whether it needs the key of an administrator. */
  readonly administers?: boolean
  /** Whether it follows a stream beside its operation. */
  readonly follows?: true | undefined
}

export type SessionWork = (session: Session) => Promise<void>

/** The options of commands that go to the store of this machine, or to a host behind an address. */
export const withAmbit = (command: Command, { tenant }: { readonly tenant: boolean }): Command =>
  (tenant ? withTenant(command) : withStore(command))
    // The key says which tenant is meant there.
    .addOption(new Option('--url <address>', served).conflicts('tenant'))
    .option('--key <key>', 'the API key to go there with (default: AMBIT_KEY)')

const served = 'a host that is being served, such as http://127.0.0.1:4770 (default: the store here)'

/** Opens the Ambit of a command for the length of `work`. Signals end what `work` waits for only if it follows a stream. */
export async function atAmbit(io: Io, options: AmbitOptions, errand: Errand, work: SessionWork): Promise<void> {
  const key = (options.key ?? io.env['AMBIT_KEY']) || undefined
  const stopping = new AbortController()
  const off = errand.operation.stream || errand.follows ? io.onSignal(() => stopping.abort()) : () => undefined
  try {
    if (options.url !== undefined)
      return await work(remoteSession(options.url, key, stopping.signal)).catch(withKeyHelp)
    const { withLocalSession } = await import('./ambit-local.ts')
    await withLocalSession({ ...io, env: { ...io.env, AMBIT_KEY: key } }, options, errand, stopping.signal, work)
  } catch (error) {
    if (!stopping.signal.aborted) throw error
  } finally {
    off()
  }
}

/** The Ambit behind an address. What is asked there ends with the signal. */
function remoteSession(url: string, key: string | undefined, signal: AbortSignal): Session {
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

/** Not every path of a host says what to do about a key that it does not accept. */
function withKeyHelp(error: unknown): never {
  if (!(error instanceof Failure) || error.code !== 'unauthenticated') throw error
  const help = 'give a current key of this host with AMBIT_KEY or --key'
  throw new Failure(error.code, error.message, error.data, help)
}
