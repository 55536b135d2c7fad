import type { Json } from '../../base/canonical.ts'
import type { CompiledContext } from '../../model/contract/compiled.ts'

/**
 * Proposes what a run does next. It is given data alone: no adapter, no gateway, no store. What it answers is checked
 * like text from outside, and has no effect before it was verified.
 */
export interface Planner {
  /** Names it in prices, where it counts what it uses. */
  readonly id: string
  plan(request: PlanRequest): Promise<PlanAnswer>
}

/** All that a planner is told, as copies of its own. */
export interface PlanRequest {
  readonly intent: string
  readonly compiled: CompiledContext
  /** The capabilities that exist for the run: id, description and arguments. What others wrote of them stands in fences. */
  readonly tools: string
  /** The steps that were answered, oldest first. */
  readonly steps: readonly AnsweredStep[]
  /** Why the plan before was sent back; empty where it was not. */
  readonly problems: readonly string[]
  /** Steps and problems as text for a model: what tools have answered stands in fences. */
  readonly progress: string
  /** Aborts when the time to plan is over, and when the run is to end. */
  readonly signal: AbortSignal
}

export interface AnsweredStep {
  readonly step: string
  readonly tool: string
  readonly status: string
  readonly output: Json
  readonly error: { readonly code: string; readonly message: string } | null
}

export interface PlanAnswer {
  /** A plan as data or as JSON text. Its `plan_id` and `intent` are set by the runtime, whatever it says. */
  readonly plan: unknown
  /** Said beside the plan: the output of a decision that no template makes. */
  readonly text?: string
  /** What models have used for it; without it none was asked. */
  readonly usage?: PlanUsage
}

export interface PlanUsage {
  readonly turns?: number
  /** As the provider counts; missing where it does not say. */
  readonly inputTokens?: number
  readonly outputTokens?: number
}
