import type { Json } from '../base/canonical.ts'
import type { JsonObject } from '../base/object.ts'
import type { Origin } from '../fence/fence.ts'
import type { CapabilityTier, EvidenceFact, HiddenReason, Omission } from '../model/contract/compiled.ts'
import type { Bucket } from '../model/contract/context.ts'
import type { ContextPack, PackCatalog } from '../model/contract/pack.ts'

/** A pack or catalog that was loaded: its signature, tenant and compatibility hold. */
export type LoadedRef = { readonly ref: string; readonly hash: string } & (
  | { readonly kind: 'pack'; readonly document: ContextPack }
  | { readonly kind: 'catalog'; readonly document: PackCatalog }
)

/** All that compile reads beside packs and run context, the clock included: kept with the run. */
export interface CompileFacts {
  readonly now: string
  /** Name and version of what counts tokens. */
  readonly estimator: string
  readonly snapshot_version: string
  /** The secret of the run's fences, in hex. It decides nothing that is chosen. */
  readonly fence_seed: string
  readonly request: {
    readonly request_id: string
    readonly intent: string
    readonly message: string
    readonly channel?: string | undefined
    readonly locale?: string | undefined
    readonly context?: JsonObject | undefined
  }
  readonly trace: { readonly traceparent: string; readonly tracestate?: string; readonly baggage?: string }
  readonly capabilities: readonly OfferedCapability[]
  readonly evidence: readonly EvidenceFact[]
  readonly consents: readonly Consent[]
  readonly sources: readonly Source[]
}

/** A capability that the host offers to the run, with what is known of it before any pack speaks. */
export interface OfferedCapability {
  readonly capability_id: string
  /** The name that a model calls it by. */
  readonly tool: string
  readonly description: string
  readonly input_schema: Json
  readonly available: boolean
  readonly tier: CapabilityTier
  /** Why the run cannot have it, whatever packs say: a resource under a ceiling, a grant that is missing. */
  readonly hidden?: HiddenReason | undefined
}

/** Both tenants agree that a fact of one is used by the other. */
export interface Consent {
  readonly consent_ref: string
  readonly tenants: readonly [string, string]
  /** The beginning of the evidence refs it covers. */
  readonly scope: string
  readonly expires_at: string
}

/** Text that was retrieved, recalled, uploaded or written by somebody: a block, if there is room. */
export interface Source {
  readonly block_id: string
  readonly bucket: Bucket
  readonly priority: number
  readonly text: string
  readonly refs: readonly string[]
  /** Where it stands in a fence; a text that is in a fence of its own kind already says so. */
  readonly fenced: { readonly origin: Origin; readonly name: string } | 'already'
  /** May be cut at the end of a line. */
  readonly splittable?: boolean
  /** For memory: what it takes to read it. Facts of the memory that are not promoted never come here. */
  readonly memory?: { readonly tenant_id: string; readonly covered: boolean; readonly promoted: boolean }
}

/** A source that compile left out before it counted anything. */
export const leftOut = (
  { block_id, bucket, priority, refs }: Pick<Source, 'block_id' | 'bucket' | 'priority' | 'refs'>,
  reason: Omission['reason'],
  tokens = 0,
): Omission => ({ block_id, bucket, reason, tokens, priority, source_refs: [...refs] })
