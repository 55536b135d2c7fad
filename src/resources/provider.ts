import type { Json } from '../base/canonical.ts'
import type { SchemaLike } from '../gateway/schema-like.ts'
import type { ResourceMode } from '../grants/ceilings.ts'
import type { Subject } from '../model/identity/subject.ts'
import type { EntryStore } from './entry-store.ts'

/** Directions that a provider may look from a grant: its ancestors, the node itself, its descendants. */
export type Reach = 'up' | 'at' | 'down'

/** What a tool of a provider is told, frozen. It cannot invoke agents, mint grants or reach another tenant. */
export interface ResourceToolContext<Config = unknown> {
  readonly resourceName: string
  readonly kind: string
  readonly mode: ResourceMode
  readonly config: Config
  /** The paths that are granted for this resource at this moment. */
  readonly grants: readonly string[]
  readonly run: {
    readonly runId: string
    readonly rootId: string
    readonly parentId: string | null
    readonly agentId: string
    readonly sessionId: string | null
    readonly tenantId: string
    readonly subject: Subject
    readonly toolCallId: string | null
    readonly traceparent: string
  }
  /** Aborts when the run or an ancestor is cancelled or times out. */
  readonly signal: AbortSignal
  /** The store of Ambit, as far as these grants and the reach of the provider go. */
  readonly store: EntryStore
}

/** What a tool answers: its result, and every scope that it has read or written for it. */
export interface Touched {
  readonly result: Json
  readonly scopes: readonly string[]
}

export interface ProviderTool<Config = unknown, Input = unknown> {
  readonly description: string
  /** Without it the tool takes no arguments. */
  readonly input?: SchemaLike<Input>
  /** `read` unless said otherwise. */
  readonly mode?: ResourceMode
  /** What it changes beside what it keeps through `store`. Without it an interrupted call has had no effect. */
  readonly effects?: readonly string[]
  readonly run: (input: Input, context: ResourceToolContext<Config>) => Touched | Promise<Touched>
}

export interface EraseRequest {
  readonly tenantId: string
  readonly scope: string
  /** Whether what lies below the scope goes as well. */
  readonly recursive: boolean
}

/** `Inputs` is what the schema of each tool hands on. */
export interface ProviderSpec<Config = unknown, Inputs = Readonly<Record<string, unknown>>> {
  readonly kind: string
  readonly defaultMode?: ResourceMode
  readonly maxMode: ResourceMode
  readonly reads: readonly Reach[]
  readonly writes?: readonly Reach[]
  /** A Standard Schema of `config` and all keys of a manifest's entry that are not ours; without it there may be none. */
  readonly config?: SchemaLike<Config>
  readonly tools: { readonly [Name in keyof Inputs]: ProviderTool<Config, Inputs[Name]> }
  /** Text for the prompt of a run, from what its grants reach. */
  readonly prompt?: (
    context: ResourceToolContext<Config>,
  ) => Promise<Touched & { result: string }> | (Touched & { result: string })
  /** Of the six budget buckets, the one that its prompt text counts in. */
  readonly bucket?: 'evidence' | 'memory' | 'business' | 'session'
  /** Removes what it keeps itself in a scope, beside what it keeps through `store`. Answers counts by what was removed. */
  readonly erase?: (request: EraseRequest) => Promise<Readonly<Record<string, number>>>
  readonly open?: () => Promise<void> | void
  readonly close?: () => Promise<void> | void
}
