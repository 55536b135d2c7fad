import type { CapabilityDescriptor } from '../model/capability.ts'
import type { EvidenceBundle } from '../model/evidence.ts'
import type { HostDescriptor, IdentityDocument } from '../model/wire/host.ts'
import type { ReceivedEnvelope } from '../model/wire/invocation.ts'
import type { MandateRevocation } from '../model/wire/mandate.ts'
import type { InvocationResult, ReplayQuery, ReplayResult } from '../model/wire/result.ts'
import type { ChainWitness, StoreHeadAnchor } from '../model/wire/statement.ts'
import type {
  AnchorList,
  AnchorReceipt,
  ChainReport,
  Health,
  RevocationList,
  RevocationReceipt,
  StoreHead,
  WitnessList,
  WitnessReceipt,
} from '../model/wire/wire.ts'
import { type Asked, connectionTo, sendJson } from './http.ts'
import { type StreamEvent, type StreamOptions, stream } from './stream.ts'

export type { StreamEvent } from './stream.ts'

export interface HostOptions {
  /** Where the host is, such as `http://127.0.0.1:8787`. */
  readonly url: string
  /** An API key, or a key of the host's configuration. */
  readonly key?: string
  /** Instead of the platform's own. */
  readonly fetch?: typeof fetch
}

export interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
}

/** One host as the Capability Host Protocol has it. A denial is a result; only what never became a call is a `Failure`. */
export interface HostClient {
  invoke(envelope: ReceivedEnvelope): Promise<InvocationResult>
  /** Chunks as they come, then the result. */
  stream(envelope: ReceivedEnvelope, options?: StreamOptions): AsyncGenerator<StreamEvent, void, undefined>
  health(): Promise<Health>
  identity(): Promise<IdentityDocument>
  host(): Promise<HostDescriptor>
  capabilities(): Promise<readonly CapabilityDescriptor[]>
  /** The events of a correlation. */
  replay(query: string | ReplayQuery): Promise<ReplayResult>
  verify(correlation: string): Promise<ChainReport>
  export(correlation: string): Promise<EvidenceBundle>
  head(): Promise<StoreHead>
  witness(statement: ChainWitness): Promise<WitnessReceipt>
  anchor(statement: StoreHeadAnchor): Promise<AnchorReceipt>
  revoke(statement: MandateRevocation): Promise<RevocationReceipt>
  witnesses(query?: PageQuery): Promise<WitnessList>
  anchors(query?: PageQuery): Promise<AnchorList>
  revocations(): Promise<RevocationList>
}

/** A client of one host over the protocol's own paths. Nothing is sent yet. */
export function connectHost(options: HostOptions): HostClient {
  const connection = connectionTo(options)
  const get = <T>(path: string): Promise<T> => sendJson<T>(connection, { method: 'GET', path })
  const getOf = <T>(what: 'verify' | 'export', id: string): Promise<T> =>
    sendJson<T>(connection, {
      method: 'GET',
      path: `/${what}/${encodeURIComponent(id)}`,
      missing: 'correlation.not_found',
    })
  const post = <T>(path: string, body: Asked['body']): Promise<T> =>
    sendJson<T>(connection, { method: 'POST', path, body })
  return {
    invoke: (envelope) => post('/invoke', envelope),
    stream: (envelope, options) => stream(connection, envelope, options),
    health: () => get('/health'),
    identity: () => get('/.well-known/chp-identity'),
    host: () => get('/host'),
    capabilities: async () => (await get<{ capabilities: CapabilityDescriptor[] }>('/capabilities')).capabilities,
    replay: (query) => post('/replay', typeof query === 'string' ? { correlation_id: query } : query),
    verify: (correlation) => getOf('verify', correlation),
    export: (correlation) => getOf('export', correlation),
    head: () => get('/head'),
    witness: (statement) => post('/witness', statement),
    anchor: (statement) => post('/anchors', statement),
    revoke: (statement) => post('/revocations', statement),
    witnesses: (query = {}) => get(`/witnesses${queryText(query)}`),
    anchors: (query = {}) => get(`/anchors${queryText(query)}`),
    revocations: () => get('/revocations'),
  }
}

function queryText(query: PageQuery): string {
  const given = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
