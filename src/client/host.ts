import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import type { FailureCode } from '../base/failure-codes.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { EvidenceBundle } from '../model/evidence.ts'
import type { HostDescriptor, IdentityDocument } from '../model/wire/host.ts'
import type { ReceivedEnvelope } from '../model/wire/invocation.ts'
import type { MandateRevocation } from '../model/wire/mandate.ts'
import type { InvocationResult, ReplayQuery, ReplayResult } from '../model/wire/result.ts'
import type { ChainWitness, StoreHeadAnchor } from '../model/wire/statement.ts'
import type * as wire from '../model/wire/wire.ts'
import type { PageOptions } from '../operations/ambit.ts'
import { type HostOptions, readFrames, send, sendJson, unreachable, withQuery } from './http.ts'

export type { HostOptions } from './http.ts'

/** One host as the Capability Host Protocol has it. */
export type HostClient = ReturnType<typeof connectHost>

/**
 * A client of one host over the protocol's own paths. A denial is a result; only what never became a call is a `Failure`.
 * Nothing is sent yet.
 */
export function connectHost(options: HostOptions) {
  const get = <T>(path: string, missing?: FailureCode) => sendJson<T>(options, { method: 'GET', path, missing })
  const post =
    <Sent extends object, T>(path: string) =>
    (body: Sent) =>
      sendJson<T>(options, { method: 'POST', path, body })
  const replay = post<ReplayQuery, ReplayResult>('/replay')
  const ofCorrelation = <T>(path: string, correlation: string) =>
    get<T>(`${path}/${encodeURIComponent(correlation)}`, 'correlation.not_found')
  return {
    invoke: post<ReceivedEnvelope, InvocationResult>('/invoke'),
    /** Chunks as they come, then the result. */
    stream: (envelope: ReceivedEnvelope, how?: StreamOptions) => stream(options, envelope, how),
    health: () => get<wire.Health>('/health'),
    identity: () => get<IdentityDocument>('/.well-known/chp-identity'),
    host: () => get<HostDescriptor>('/host'),
    capabilities: async () => (await get<{ capabilities: CapabilityDescriptor[] }>('/capabilities')).capabilities,
    /** The events of a correlation. */
    replay: (query: string | ReplayQuery) => replay(typeof query === 'string' ? { correlation_id: query } : query),
    verify: (correlation: string) => ofCorrelation<wire.ChainReport>('/verify', correlation),
    export: (correlation: string) => ofCorrelation<EvidenceBundle>('/export', correlation),
    head: () => get<wire.StoreHead>('/head'),
    witness: post<ChainWitness, wire.WitnessReceipt>('/witness'),
    anchor: post<StoreHeadAnchor, wire.AnchorReceipt>('/anchors'),
    revoke: post<MandateRevocation, wire.RevocationReceipt>('/revocations'),
    witnesses: (query: PageOptions = {}) => get<wire.WitnessList>(withQuery('/witnesses', query)),
    anchors: (query: PageOptions = {}) => get<wire.AnchorList>(withQuery('/anchors', query)),
    revocations: () => get<wire.RevocationList>('/revocations'),
  }
}

export type StreamEvent =
  | { readonly type: 'chunk'; readonly delta: Json }
  | { readonly type: 'result'; readonly result: InvocationResult }

interface StreamOptions {
  readonly signal?: AbortSignal
  /** How often a broken connection is taken up again. */
  readonly resumesMax?: number
}

/**
 * Calls with `mode: stream` and gives every chunk once, then the result. A connection that breaks is taken up again
 * after the last chunk that came: the call has an id, so it is carried out once however often that happens.
 */
async function* stream(
  host: HostOptions,
  envelope: ReceivedEnvelope,
  { signal, resumesMax = 5 }: StreamOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const body = { invocation_id: `inv_${crypto.randomUUID()}`, ...envelope, mode: 'stream' }
  let last = -1
  for (let broken = 0; ; ) {
    try {
      const headers: Record<string, string> = last < 0 ? {} : { 'last-event-id': String(last) }
      const response = await send(host, { method: 'POST', path: '/invoke', body, headers, signal })
      for await (const { id, event } of eventsOf(response)) {
        // A host that cannot resume begins anew: what came before is not given twice.
        if (event.type === 'chunk' && id <= last) continue
        last = id
        yield event
        if (event.type === 'result') return
      }
      throw unreachable(undefined)
    } catch (error) {
      signal?.throwIfAborted()
      if (!isBroken(error) || ++broken > resumesMax) throw error
      await new Promise((resolve) => setTimeout(resolve, waitMs * broken))
    }
  }
}

const waitMs = 100

/** Worth another try: the connection broke, or the host is busy with this very call. */
const isBroken = (error: unknown): boolean =>
  error instanceof Failure && (error.code === 'host.unreachable' || error.code === 'call.in_progress')

/** What was decided before the first chunk comes as plain JSON, and is then all there is. */
async function* eventsOf(response: Response): AsyncGenerator<{ id: number; event: StreamEvent }, void, undefined> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const result = (await response.json()) as InvocationResult
    yield { id: Number.MAX_SAFE_INTEGER, event: { type: 'result', result } }
    return
  }
  try {
    for await (const { id, event, data } of readFrames(response)) {
      const said: unknown = JSON.parse(data)
      if (event === 'chunk') yield { id: Number(id), event: { type: event, delta: (said as { delta: Json }).delta } }
      if (event === 'result') yield { id: Number(id), event: { type: event, result: said as InvocationResult } }
    }
  } catch (error) {
    throw error instanceof Failure ? error : unreachable(error)
  }
}
