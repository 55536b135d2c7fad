import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import type { ScoreVerdict } from '../../model/contract/decision.ts'
import type { CompiledRun } from '../plan/compile-run.ts'
import type { Ending } from '../plan/ending.ts'
import type { Loop } from '../plan/facts.ts'
import { ruleCall } from '../plan/modes.ts'
import { type CallMove, type Move, nextMove } from '../plan/next-move.ts'
import { readProgress, type StepCall } from '../plan/progress.ts'
import { compare, type DiffKind, type ReplayDiff } from './diffs.ts'
import { isPlaybook, planAgain } from './plan-again.ts'
import { callIdOf, isMove, momentOf, type RecordedEvent, type StoredRun } from './stored.ts'
import { isFault } from './versions.ts'

interface Replayed {
  readonly diffs: readonly ReplayDiff[]
  readonly ending?: Ending
}

/** Asks the loop for each move of a run again, on what was on record before it, and compares what it makes. */
export function replayMoves(run: CompiledRun, stored: StoredRun): Replayed {
  const { events } = stored
  const diffs: ReplayDiff[] = []
  let ending: Ending | undefined
  /** As it was when the executor made the last call. */
  let calling: Loop | undefined
  for (const [index, event] of events.entries()) {
    if (event.type === 'run.resumed') calling = loopAt(run, events.slice(0, index), event)
    if (event.type === 'tool.finished' && calling) diffs.push(...resultDiffs(event, events, calling))
    if (!isMove(event) || hasFailed(event, stored)) continue
    const loop = loopAt(run, events.slice(0, index), event)
    if (event.type === 'tool.started') calling = loop
    const move = nextMove(loop.progress, loop)
    if (move.do === 'end') ending = move.ending
    diffs.push(...moveDiffs(event, move, loop, stored))
  }
  return { diffs, ...(ending && { ending }) }
}

const loopAt = (run: CompiledRun, before: readonly RecordedEvent[], event: RecordedEvent): Loop => ({
  ...momentOf(run, event),
  progress: readProgress(before),
})

/** A run that ended without its loop: by a fault of its process. */
const hasFailed = ({ type }: RecordedEvent, { versions }: StoredRun): boolean =>
  type === 'run.finished' && (versions.at(-1)?.status === 'IN_FLIGHT' || isFault(versions))

function moveDiffs(event: RecordedEvent, move: Move, loop: Loop, stored: StoredRun): readonly ReplayDiff[] {
  const { type, data, event_id } = event
  const [expected, stage] = kinds[type] ?? ['end', 'end']
  const step = typeof data['step'] === 'string' ? { step: data['step'] } : {}
  const place = { stage, event_id, ...step }
  const made = move.do === 'note' ? move.type : move.do
  if (made !== expected) return compare({ move: expected }, { move: made }, place, kindFor(stage))
  if (move.do === 'plan') return planDiffs(event, loop)
  if (move.do === 'call') return callDiffs(event, move, stored.runId)
  if (move.do === 'end') return compare(picked(data, ending), endOf(move.ending), place, 'scorecard')
  const { verdicts } = stored.versions.at(-1)?.ambit ?? { verdicts: [] }
  const replayed = move.type === 'critic.score' ? withMeasured(move.data, data as unknown as ScoreVerdict) : move.data
  // What the record has kept as it is made again was changed in the event.
  const isKept = compare(verdicts[loop.progress.verdicts.length], replayed, place, 'tamper').length === 0
  return compare(data, replayed, place, isKept ? 'tamper' : kindFor(stage))
}

const kinds: Readonly<Record<string, readonly [move: string, stage: string]>> = {
  'plan.proposed': ['plan', 'plan'],
  'critic.verify': ['critic.verify', 'verify'],
  'critic.score': ['critic.score', 'score'],
  'tool.started': ['call', 'call'],
}

const kindFor = (stage: string): DiffKind =>
  stage === 'verify' ? 'policy' : stage === 'score' || stage === 'end' ? 'scorecard' : 'tool_transcript'

/** Members of an event by name; those that are not compared are left out. */
const picked = (data: RecordedEvent['data'], names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, data[name]]))

/** The plan of any other planner than the playbook is as the record has it. */
function planDiffs({ data, event_id }: RecordedEvent, loop: Loop): readonly ReplayDiff[] {
  if (!isPlaybook(data['planner'])) return []
  return compare(
    picked(data, ['planner', 'plan', 'problems']),
    planAgain(loop),
    { stage: 'plan', event_id },
    'tool_transcript',
  )
}

function callDiffs({ data, event_id }: RecordedEvent, move: CallMove, runId: string): readonly ReplayDiff[] {
  const { do: _, callPlace, refused, ...call } = move
  const made = { ...call, call_id: callIdOf(runId, callPlace), tool: call.capability_id }
  const names = [...Object.keys(made), 'idempotency_key']
  return compare(picked(data, names), made, { stage: 'call', step: move.step, event_id }, callKind)
}

const callKind = (pointer: string): DiffKind => {
  if (/^\/(?:requested|effective|highest)$/.test(pointer)) return 'policy'
  return pointer.startsWith('/evidence_refs') ? 'evidence' : 'tool_transcript'
}

/** The rules that the executor asked before a call, when it made it last. */
function resultDiffs(
  { data, event_id }: RecordedEvent,
  events: readonly RecordedEvent[],
  calling: Loop,
): readonly ReplayDiff[] {
  const started = events.find(({ type, data: said }) => type === 'tool.started' && said['call_id'] === data['call_id'])
  if (started === undefined) return []
  const call = started.data as unknown as StepCall
  const ruling = ruleCall(call, calling, true)
  const made = { rule_ids: ruling?.matched ?? [], risk_tags: [ruling?.effective ?? call.requested] }
  const recorded = { rule_ids: data['rule_ids'], risk_tags: data['risk_tags'] }
  return compare(recorded, made, { stage: 'result', step: call.step, event_id }, 'policy')
}

const ending = ['status', 'result', 'error']

const endOf = ({ run_status: status, outputs, cause, reasons }: Ending): { readonly [member: string]: Json } => ({
  ...{ status, result: status === 'completed' ? (outputs as Json) : null },
  error: cause === undefined ? null : { code: cause, message: reasons.join('; ').slice(0, limits.errorCharsMax) },
})

/** Time and money that were measured are as the record has them. */
function withMeasured(made: ScoreVerdict, recorded: ScoreVerdict): ScoreVerdict {
  const { latency, cost } = recorded.scorecard.scores
  const isMeasured = made.cause === 'budget_wall_clock' || made.cause === 'budget_cost'
  const { limit, used, checkpoint_id } = recorded
  return {
    ...made,
    scorecard: { scores: { ...made.scorecard.scores, ...defined({ latency, cost }) } },
    ...defined({ checkpoint_id, ...(isMeasured && { limit, used }) }),
  }
}
