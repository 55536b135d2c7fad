import type { PackActivation } from '../../model/knowledge/knowledge.ts'
import type { SourceMap } from '../../model/knowledge/records.ts'
import type { Diagnostic } from '../diagnostic.ts'
import type { Pack } from '../pack.ts'
import type { Place } from './layout.ts'
import type { RecordedRun } from './run-findings.ts'
import type { CountTokens, FileIndex, Section } from './section.ts'

/** All that is known of an active pack before something is chosen from it. */
export interface PackFacts {
  readonly pack: Pack
  readonly activation: PackActivation
  /** Every file of the pack; the same list while it is the same, for what follows from it is worked out once. */
  readonly paths: readonly string[]
  /** The body of the entry file. */
  readonly guide: string
  /** What was indexed so far; `Choice.wanted` says what else is needed. */
  readonly files: ReadonlyMap<string, FileIndex>
  /** What was wanted and cannot be had. */
  readonly unreadable?: ReadonlySet<string> | undefined
  /** From `indexRecords`. */
  readonly records?: readonly FileIndex[] | undefined
  readonly sourceMap?: SourceMap | undefined
  readonly runs?: readonly RecordedRun[] | undefined
  /** Findings of discovery and activation that a model must see. */
  readonly warnings?: readonly Diagnostic[] | undefined
  /** Where a hybrid pack begins that does not say so itself. */
  readonly configured?: readonly string[] | undefined
}

export interface SelectionRequest {
  readonly query: string
  /** Active packs, the best match first. */
  readonly packs: readonly PackFacts[]
  /** Tokens of everything that is emitted. */
  readonly budget: number
  /** Excerpts of sources are asked for. */
  readonly evidence?: boolean | undefined
  /** Facts that the task cannot do without. */
  readonly required?: readonly string[] | undefined
  readonly count?: CountTokens | undefined
}

/** Why a section was chosen or dropped. */
export interface Reason {
  /** How far the choice had to go: tiers of the pack from 0; evidence comes last. */
  readonly tier: number
  readonly place: Place
  readonly matched: readonly string[]
  readonly score: number
  /** Among the candidates of its pack, from 1. */
  readonly rank: number
}

export type Role = 'constraint' | 'fact' | 'overview' | 'evidence'

export interface ChosenSection extends Reason {
  readonly pack: string
  readonly path: string
  readonly section: Section
  /** Of the file that the section was taken from. */
  readonly fileDigest: string
  readonly role: Role
  readonly anchors: readonly string[]
  /** What a reader of the section must know. */
  readonly warnings: readonly Diagnostic[]
}

export type DropReason = 'duplicate' | 'weak' | 'budget'

export interface DroppedSection extends Reason {
  readonly pack: string
  readonly path: string
  readonly section: string
  readonly why: DropReason
}

export interface ChosenPack {
  readonly pack: Pack
  readonly activation: PackActivation
  /** Constraints first, then from the most to the least worthwhile. */
  readonly sections: readonly ChosenSection[]
  /** Of the pack as a whole; sections have their own. */
  readonly warnings: readonly Diagnostic[]
}

export interface MissingFact {
  readonly fact: string
  readonly recommendation: 'ask_user_or_mark_unknown'
}

export interface Choice {
  /** Files to index before the choice stands: index them, and choose again. Empty when it stands. */
  readonly wanted: readonly { readonly pack: string; readonly paths: readonly string[] }[]
  /** Personas first, then data by rank: the order of the wrappers. */
  readonly packs: readonly ChosenPack[]
  readonly dropped: readonly DroppedSection[]
  readonly missing: readonly MissingFact[]
  /** All findings, also of packs from which nothing was chosen. */
  readonly diagnostics: readonly Diagnostic[]
}
