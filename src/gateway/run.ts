import type { Json } from '../base/canonical.ts'
import { lowerTo } from '../grants/branches.ts'
import type { Ceiling, ResourceMode } from '../grants/ceilings.ts'
import type { Amounts } from '../model/config/budget.ts'
import type { AttemptRecord, EventDraft } from '../model/evidence.ts'
import type { Grant } from '../model/grant.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import type { PolicySet } from '../policy/policies.ts'
import type { BudgetPlace } from '../storage/tables/budget-uses.ts'
import type { Change } from '../storage/work.ts'
import type { CallContext } from './capability.ts'

/** The run that a call belongs to. It comes from the runtime, never from an envelope. */
export interface CallRun {
  readonly id: string
  readonly rootId: string
  readonly agent: string
  /** What the run holds, frozen. An approval is bound to it. */
  readonly grants: readonly Grant[]
  /** What the record of each call says of the run. */
  readonly entry: NonNullable<AttemptRecord['run']>
  /** What rules may read as `run`, `user` and `agent`. */
  readonly facts: { readonly [Root in 'run' | 'user' | 'agent' | 'request' | 'evidence']?: Json }
  /** Left out of the copy that is kept while people decide: the gates ask for it when the call comes again. */
  readonly bounds?: RunBounds
}

export interface RunBounds {
  readonly surface: Surface
  /** The rules of the packs that the run was given: asked beside those of the host. */
  readonly policies?: PolicySet
  /** What the packs demand of this call beside their rules. */
  readonly demands?: CallDemands
  /** What stands behind the capabilities that exist in runs alone, by id. */
  readonly tools: ReadonlyMap<string, RunTool>
  /** Whether the arguments could not be read: the call is then refused for them, in their turn. */
  readonly isUnreadable?: boolean
  /** Reserved with the intent and settled with the outcome, as budgets of the host are. */
  readonly budgets: readonly { readonly place: BudgetPlace; readonly limits: Amounts }[]
  /** From then on the run starts no call. A call without effects is cut off there. */
  readonly deadlineMs: number
  /** The grants that live now. */
  readonly liveGrants: (nowMs: number) => Promise<readonly Grant[]> | readonly Grant[]
}

/** Asked with the arguments that the call will run with, which people may have edited. */
export interface CallDemands {
  /** Gate 5b: a permission that the arguments do not keep to, or authority that is not there. */
  readonly rejects: (args: Json) => Promise<CallProblem | undefined> | CallProblem | undefined
  /** Gate 6, before anybody is asked: a condition of the decision, or a demand of the tier, that is not met. */
  readonly blocks: (args: Json) => CallProblem | undefined
  /** Gate 6b: what is known under the key of its effect. One that is settled is skipped, as `effect_settled`. */
  readonly repeats?: () => Promise<CallProblem | undefined>
}

export interface CallProblem {
  /** In the words of a run. */
  readonly code: string
  readonly message: string
  readonly pointer?: string
}

/** Capability ids that exist for a run. */
export type Surface = ReadonlySet<string> | ((capabilityId: string) => boolean)

/** A capability that exists in runs alone, as one run has it. */
export interface RunTool {
  /** The resource that it belongs to; a child agent belongs to none. */
  readonly resource?: {
    readonly name: string
    readonly kind: string
    /** What the tool needs, and what the run has. */
    readonly mode: ResourceMode
    readonly effective: Ceiling
    /** Whether the inherited ceiling is what leaves it so little. */
    readonly isCeiling: boolean
    /** The grants of the run are lowered to these branches. */
    readonly branches?: readonly string[] | undefined
  }
  readonly handler: (input: unknown, call: CallContext, grants: readonly string[]) => unknown
}

/** The paths that are granted for a resource now. */
export function grantedPaths(live: readonly Grant[], branches: readonly string[] | undefined): readonly string[] {
  const paths = live.map(({ path }) => path)
  return Object.freeze([...new Set(branches === undefined ? paths : lowerTo(branches, paths))])
}

/** How the runtime follows and drives one call. */
export interface Driving {
  readonly chunk?: (chunk: Json) => void
  /** Cancels the call: its handler is told to stop. */
  readonly signal?: AbortSignal | undefined
  readonly run?: CallRun & { readonly bounds: RunBounds }
  /** Written in the transaction of the intent. */
  readonly onIntent?: () => Additions
  /** Written with the outcome or the refusal, `approval_required` included; a repeat writes nothing. */
  readonly onOutcome?: (result: InvocationResult) => Additions
}

export interface Additions {
  readonly changes: readonly Change[]
  readonly events: readonly EventDraft[]
}

export const noAdditions: Additions = { changes: [], events: [] }

export const isSurfaced = (surface: Surface, capabilityId: string): boolean =>
  typeof surface === 'function' ? surface(capabilityId) : surface.has(capabilityId)
