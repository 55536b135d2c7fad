import { canonical, type Json } from '../base/canonical.ts'
import { sha256 } from '../base/hash.ts'
import type { JsonObject } from '../base/object.ts'
import type { Origin } from '../fence/fence.ts'
import type { CapabilityTier, EvidenceFact, HiddenReason, Omission } from '../model/contract/compiled.ts'
import type { Bucket, RunContext } from '../model/contract/context.ts'
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
  /** Of its description and its schemas, as a model is shown them. */
  readonly digest: string
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

/** Text that was retrieved, recalled, uploaded or written by people: a block, if there is room. */
export interface Source {
  readonly block_id: string
  readonly bucket: Bucket
  readonly priority: number
  readonly text: string
  /** What the text is made of, oldest first: of what does not fit whole, the newest parts that do are kept. */
  readonly parts?: readonly Part[]
  readonly refs: readonly string[]
  /** Where it stands in a fence; a text that is in a fence of its own kind already says so. */
  readonly fenced: { readonly origin: Origin; readonly name: string } | 'already'
  /** May be cut at the end of a line. */
  readonly splittable?: boolean
  /** The granted paths that it was read under: where none of them is granted any more it is left out. */
  readonly paths?: readonly string[]
  /** For memory: what it takes to read it. Facts of the memory that are not promoted never come here. */
  readonly memory?: { readonly tenant_id: string; readonly covered: boolean; readonly promoted: boolean }
}

/** An entry of a bucket, or a message of a conversation. */
export interface Part {
  readonly text: string
  readonly said_by?: 'user' | 'assistant'
}

/** Parts as one text. */
export const joinParts = (parts: readonly Part[]): string =>
  parts.map(({ text, said_by }) => (said_by === undefined ? text : `${said_by}:\n${text}`)).join('\n\n')

/** The part of a run context that a compile reads. */
export type CompileScope = Pick<
  RunContext,
  'run_id' | 'tenant_id' | 'session_id' | 'intent' | 'user' | 'safety_mode' | 'run_budget' | 'metadata'
> & { readonly agent: Pick<RunContext['agent'], 'agent_id' | 'agent_urn' | 'role'> }

/** Names what evidence and texts were when they were read: the same name, the same content. */
export function snapshotOf({ evidence, sources }: Pick<CompileFacts, 'evidence' | 'sources'>): string {
  const seen = [evidence.map(({ hash }) => hash), sources.map(({ block_id, text }) => [block_id, sha256(text)])]
  return `snap_${sha256(canonical(seen as Json)).slice(0, 16)}`
}

/** What packs say of their business in short. */
export const summarySources = (packs: readonly ContextPack[]): readonly Source[] =>
  packs
    .map(({ pack_meta, business_context }) => ({
      ...{ block_id: `summary:${pack_meta.pack_id}`, bucket: 'business' as const, priority: 90, splittable: true },
      ...{ text: business_context.summary, refs: [] },
      fenced: { origin: 'resource' as const, name: pack_meta.pack_id },
    }))
    .filter(({ text }) => text !== '')

/** A source that compile left out before it counted anything. */
export const leftOut = (
  { block_id, bucket, priority, refs }: Pick<Source, 'block_id' | 'bucket' | 'priority' | 'refs'>,
  reason: Omission['reason'],
  tokens = 0,
): Omission => ({ block_id, bucket, reason, tokens, priority, source_refs: [...refs] })
