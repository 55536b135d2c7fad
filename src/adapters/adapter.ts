import { sha256 } from '../base/hash.ts'
import type { Clock } from '../base/time.ts'
import { formatTraceparent } from '../base/trace.ts'
import { type CallContext, type Capability, protocolTypes } from '../gateway/capability.ts'
import type { SecretValue } from '../keys/secrets.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { Upstream } from '../model/config/upstream.ts'
import type { Egress } from './egress/egress.ts'

/** What an upstream of one tenant stands on. */
export interface UpstreamDeps {
  /** The secret of the tenant behind `secret:NAME`; fails with `secret.not_found`. */
  readonly secret: (handle: string) => Promise<SecretValue>
  readonly egress: Egress
  readonly clock: Clock
  /** The folder from which relative paths of a configuration are meant. */
  readonly folder: string
  /** Told in a sentence for people when an upstream goes, comes back or has changed. */
  readonly notice: (text: string) => void
}

/** Something that is put behind the gateway. What it says is data: its words decide nothing. */
export interface OpenUpstream {
  /** Each is called through the gateway alone. */
  readonly capabilities: readonly Capability[]
  /** Ends its connections and processes. Calls under way end as they can. */
  close(): Promise<void>
}

type Offered = Upstream['capabilities'][number]['descriptor']
type Metadata = NonNullable<CapabilityDescriptor['metadata']>

/** A capability of an upstream: whatever its file says, it comes from elsewhere. Only `network` is its to set. */
export function foreignDescriptor(
  { modes = ['sync'], emits = [], metadata, ...declared }: Offered,
  { credentials = {}, ...from }: Pick<Metadata, 'credentials'> & Required<Pick<Metadata, 'origin' | 'network'>>,
): CapabilityDescriptor {
  const { credentials: _, network = from.network, ...kept } = metadata ?? {}
  return {
    ...declared,
    modes,
    emits: [...new Set([...protocolTypes, ...emits])],
    metadata: { ...kept, origin: from.origin, network, ...(Object.keys(credentials).length > 0 && { credentials }) },
  }
}

/** Structure has no place for a fence, and clients show it to their models: it is passed on only where the file says so. */
export const isTextOnly = ({ structured_content }: Upstream): boolean => structured_content !== 'unfenced'

/** The trace that a call continues upstream: the caller's, or one of its correlation's own. */
export function traceparentOf({
  correlation,
  invocationId,
}: Pick<CallContext, 'correlation' | 'invocationId'>): string {
  const given = correlation.trace_id ?? ''
  const traceId = /^(?!0{32})[0-9a-f]{32}$/.test(given) ? given : sha256(correlation.correlation_id).slice(0, 32)
  return formatTraceparent({ traceId, spanId: sha256(invocationId).slice(0, 16), sampled: true })
}

/** The server answered, and the answer is that it failed. Whether it did something before that is not known. */
export class UpstreamFailed extends Error {
  override readonly name: string
  readonly code: string

  constructor(code: string, message: string, type = 'UpstreamError') {
    super(message)
    this.name = type
    this.code = code
  }
}

/** The answer says that the server is at fault, not the call. */
export const isServerError = (error: unknown): boolean =>
  error instanceof UpstreamFailed && error.code.startsWith('http_5')
