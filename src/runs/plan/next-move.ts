import type { JsonObject } from '../../base/object.ts'
import type { Tier } from '../../model/contract/context.ts'
import type { RecordStatus, ScoreVerdict, VerifyVerdict } from '../../model/contract/decision.ts'
import type { RunStatus } from '../../model/run.ts'
import type { LoopFacts } from './facts.ts'
import type { Progress } from './progress.ts'

/** A call of a step that was verified, as the executor is to make it. */
export interface CallMove {
  readonly do: 'call'
  readonly step: string
  /** The same for the same attempt over all legs of the run: its id is made from it. */
  readonly callPlace: string
  readonly capability_id: string
  readonly args: JsonObject
  readonly attempt: number
  readonly requested: Tier
  readonly effective: Tier
  readonly highest: Tier
  readonly evidence_refs: readonly string[]
  /** Of a write. */
  readonly idempotency_key?: string
  /** Why the gateway is to answer `blocked`: a condition of the decision that does not hold before the effect. */
  readonly refused?: { readonly code: string; readonly message: string }
}

export type NoteMove =
  | { readonly do: 'note'; readonly type: 'critic.verify'; readonly data: VerifyVerdict }
  | { readonly do: 'note'; readonly type: 'critic.score'; readonly data: ScoreVerdict }

export interface Ending {
  readonly record_status: Exclude<RecordStatus, 'IN_FLIGHT' | 'CLOSED'>
  readonly run_status: Extract<RunStatus, 'completed' | 'failed' | 'cancelled'>
  readonly outcome?: string
  readonly outputs: JsonObject
  readonly cause?: string
  readonly limit?: number
  readonly used?: number
  readonly reasons: readonly string[]
}

export type Move = { readonly do: 'plan' } | NoteMove | CallMove | { readonly do: 'end'; readonly ending: Ending }

/** What the loop does next with a run. It has no effect by itself: who asks carries it out, notes it, and asks again. */
export function nextMove(_progress: Progress, _facts: LoopFacts): Move {
  return { do: 'plan' }
}
