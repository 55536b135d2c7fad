import type { FailureCode } from '../base/codes.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { EvidenceBundle } from '../model/evidence.ts'
import type { HostDescriptor, IdentityDocument } from '../model/wire/host.ts'
import type { ReceivedEnvelope } from '../model/wire/invocation.ts'
import type { MandateRevocation } from '../model/wire/mandate.ts'
import type { InvocationResult, ReplayQuery, ReplayResult } from '../model/wire/result.ts'
import type { ChainWitness, StoreHeadAnchor } from '../model/wire/statement.ts'
import type * as wire from '../model/wire/wire.ts'
import type { PageOptions } from '../operations/ambit.ts'
import { type HostOptions, sendJson, withQuery } from './http.ts'
import { type StreamEvent, type StreamOptions, stream } from './stream.ts'

export type { HostOptions } from './http.ts'
export type { StreamEvent } from './stream.ts'

/** One host as the Capability Host Protocol has it. A denial is a result; only what never became a call is a `Failure`. */
export interface HostClient {
  invoke(envelope: ReceivedEnvelope): Promise<InvocationResult>
  /** Chunks as they come, then the result. */
  stream(envelope: ReceivedEnvelope, options?: StreamOptions): AsyncGenerator<StreamEvent, void, undefined>
  health(): Promise<wire.Health>
  identity(): Promise<IdentityDocument>
  host(): Promise<HostDescriptor>
  capabilities(): Promise<readonly CapabilityDescriptor[]>
  /** The events of a correlation. */
  replay(query: string | ReplayQuery): Promise<ReplayResult>
  verify(correlation: string): Promise<wire.ChainReport>
  export(correlation: string): Promise<EvidenceBundle>
  head(): Promise<wire.StoreHead>
  witness(statement: ChainWitness): Promise<wire.WitnessReceipt>
  anchor(statement: StoreHeadAnchor): Promise<wire.AnchorReceipt>
  revoke(statement: MandateRevocation): Promise<wire.RevocationReceipt>
  witnesses(query?: PageOptions): Promise<wire.WitnessList>
  anchors(query?: PageOptions): Promise<wire.AnchorList>
  revocations(): Promise<wire.RevocationList>
}

/** A client of one host over the protocol's own paths. Nothing is sent yet. */
export function connectHost(options: HostOptions): HostClient {
  const get = <T>(path: string, missing?: FailureCode) => sendJson<T>(options, { method: 'GET', path, missing })
  const post = <T>(path: string, body: object) => sendJson<T>(options, { method: 'POST', path, body })
  return {
    invoke: (envelope) => post('/invoke', envelope),
    stream: (envelope, how) => stream(options, envelope, how),
    health: () => get('/health'),
    identity: () => get('/.well-known/chp-identity'),
    host: () => get('/host'),
    capabilities: async () => (await get<{ capabilities: CapabilityDescriptor[] }>('/capabilities')).capabilities,
    replay: (query) => post('/replay', typeof query === 'string' ? { correlation_id: query } : query),
    verify: (correlation) => get(`/verify/${encodeURIComponent(correlation)}`, 'correlation.not_found'),
    export: (correlation) => get(`/export/${encodeURIComponent(correlation)}`, 'correlation.not_found'),
    head: () => get('/head'),
    witness: (statement) => post('/witness', statement),
    anchor: (statement) => post('/anchors', statement),
    revoke: (statement) => post('/revocations', statement),
    witnesses: (query = {}) => get(withQuery('/witnesses', query)),
    anchors: (query = {}) => get(withQuery('/anchors', query)),
    revocations: () => get('/revocations'),
  }
}
