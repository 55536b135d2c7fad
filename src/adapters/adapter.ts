import type { Clock } from '../base/time.ts'
import type { Capability } from '../gateway/capability.ts'
import type { SecretValue } from '../keys/secret-value.ts'
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
