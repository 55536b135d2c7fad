import type { Json } from '../../base/canonical.ts'
import { parseTime } from '../../base/time.ts'
import type { Measure } from '../../compile/buckets.ts'
import type { ReadyPacks } from '../../compile/compile.ts'
import type { CompileFacts } from '../../compile/facts.ts'
import type { DecisionRecord } from '../../model/contract/decision.ts'
import type { RunEvent } from '../../model/run.ts'
import { type CompiledRun, hasLapsed } from '../plan/compile-run.ts'
import type { LoopFacts } from '../plan/facts.ts'
import type { Envelope } from '../record/pins.ts'

/** All that is on record of a run that context packs drove. Nothing else has a say in a replay. */
export interface StoredRun {
  readonly runId: string
  readonly envelope: Envelope
  readonly facts: CompileFacts
  /** Of the facts as they are kept. */
  readonly factsHash: string
  /** The packs that it pins, each still what it was. */
  readonly packs: ReadyPacks
  /** Its own events, the first one first. */
  readonly events: readonly RecordedEvent[]
  /** Every version of its record, the first one first. */
  readonly versions: readonly DecisionRecord[]
  /** The hashes of record versions that evidence has. */
  readonly sealed: ReadonlySet<string>
  readonly measure: Measure
}

export type RecordedEvent = Pick<RunEvent, 'event_id' | 'type' | 'at' | 'data'>

/** The stop of a run from outside its loop: what the driver met, which nothing else on record says. */
type Stop = Pick<LoopFacts, 'hardStop' | 'cancelled'>

/** What the loop knew when it came to an event. Measured usage is not made again: see `withMeasured`. */
export function momentOf(run: CompiledRun, { at, ...event }: Pick<RecordedEvent, 'at' | 'type' | 'data'>): LoopFacts {
  const { context, facts, ...rest } = run
  const { max_tool_calls: calls, max_replan_attempts: replans } = context.run_budget
  return {
    ...{ ...rest, context, request: facts.request, limits: { calls, replans }, now: at },
    identityLapsed: hasLapsed(context, parseTime(at) ?? 0),
    ...stopIn(event),
  }
}

function stopIn({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): Stop {
  const error = data['error'] as { readonly code?: string } | null | undefined
  if (type === 'run.finished') return error?.code === 'cancelled' ? { cancelled: true } : {}
  const [reason] = (data['reasons'] ?? []) as readonly Json[]
  if (type !== 'critic.score' || data['verdict'] !== 'escalate' || reason !== 'a limit was met') return {}
  const { cause, limit, used } = data as { readonly cause?: string; readonly limit?: number; readonly used?: number }
  const amounts = { ...(limit !== undefined && { limit }), ...(used !== undefined && { used }) }
  return { hardStop: { cause: cause ?? '', ...amounts } }
}

/** True for an event that says which move the loop made. */
export const isMove = ({ type }: Pick<RecordedEvent, 'type'>): boolean => moves.has(type)

const moves: ReadonlySet<string> = new Set([
  ...['plan.proposed', 'critic.verify', 'critic.score', 'tool.started', 'run.finished'],
])

export const callIdOf = (runId: string, place: string): string => runId.replace('run', 'tool') + place
