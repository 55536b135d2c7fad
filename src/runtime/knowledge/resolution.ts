import type { Passage, PassageRef } from '../../knowledge/passages.ts'
import type { ContextResolution } from '../../model/knowledge/records.ts'
import type { ResolutionTrace } from '../../model/knowledge/trace.ts'

export interface ResolveRequest {
  readonly query: string
  /** Tokens of everything that is emitted; 2,000 unless said. */
  readonly budget?: number | undefined
  /** Packs to use: by name, id or path. */
  readonly select?: readonly string[] | undefined
  /** Packs that a ranker of your own chose, best first. */
  readonly ranked?: readonly string[] | undefined
  /** Only these may be used now: names, ids or scopes. */
  readonly enable?: readonly string[] | undefined
  /** These may not be used now, not even if they are selected. */
  readonly disable?: readonly string[] | undefined
  /** Packs that a person approves and confirms for this call: never pass on what a model says. */
  readonly confirm?: readonly string[] | undefined
  /** False to use what is selected and nothing else. */
  readonly implicit?: boolean | undefined
  /** Excerpts of sources, too. */
  readonly evidence?: boolean | undefined
  /** Facts that the task cannot do without. */
  readonly required?: readonly string[] | undefined
  /** Each section in a fence of its own, and at most so many. */
  readonly passages?: number | undefined
  /** This section and nothing else, as it is now. */
  readonly section?: PassageRef | undefined
}

/** One wrapper as a block for a compiled context: whole or not at all, of the bucket `evidence`. */
export interface KnowledgeBlock {
  readonly id: string
  readonly bucket: 'evidence'
  /** The first is the highest. */
  readonly priority: number
  readonly text: string
  readonly tokens: number
  /** `knowledge:<pack>@<version>#<path>` of every file that text was taken from. */
  readonly refs: readonly string[]
}

export interface Resolution {
  /** What a model is to see: all wrappers, in order. Empty where nothing was used. */
  readonly text: string
  readonly tokens: number
  readonly blocks: readonly KnowledgeBlock[]
  /** Where sections are asked for one by one. */
  readonly passages: readonly Passage[]
  /** In the form of the standard; missing where nothing was used. */
  readonly record?: ContextResolution | undefined
  /** What was considered, used, dropped and missing, and why. */
  readonly trace: ResolutionTrace
}
