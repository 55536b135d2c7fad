import type { Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import type { JsonObject } from '../../base/object.ts'
import type { Tier } from '../../model/contract/context.ts'
import type { ScoreVerdict, VerifyVerdict } from '../../model/contract/decision.ts'
import type { Plan, ToolStatus } from '../../model/contract/plan.ts'
import type { RunEvent } from '../../model/run.ts'

/** How one attempt of a step was answered, as its event says it. */
export interface StepAnswer {
  readonly status: Exclude<ToolStatus, 'paused'>
  readonly output: Json
  readonly error: {
    readonly code: string
    readonly message: string
    readonly retryable?: boolean
    readonly rule_id?: string
  } | null
  readonly mutations?: readonly string[]
  readonly policy_decision_id?: string | null
  /** `bundle#rule` of each rule that matched. */
  readonly rule_ids?: readonly string[]
  /** What the gateway tried again within the call. */
  readonly retries?: number
  readonly approver?: string
  readonly risk_tags?: readonly string[]
  readonly at: string
}

/** One attempt of a step. Without an answer it is under way, or waits for people. */
export interface StepCall {
  readonly call_id: string
  readonly capability_id: string
  readonly step: string
  readonly attempt: number
  readonly args: JsonObject
  readonly requested?: Tier
  readonly effective?: Tier
  readonly highest?: Tier
  readonly idempotency_key?: string
  readonly answer: StepAnswer | undefined
}

/** One plan of a run, what was said of it and what came of it. */
export interface PlanProgress {
  /** The place of the plan among the plans of the run, from 0. */
  readonly index: number
  /** Undefined where what was proposed could not be read; `problems` then say why. */
  readonly plan: Plan | undefined
  readonly problems: readonly string[]
  /** As a strategy: `playbook:<template>@<v>`, `model:<id>`, `loop:<id>`, `scripted`. */
  readonly planner: string
  /** What the planner said beside it. */
  readonly text: string | undefined
  readonly verify: VerifyVerdict | undefined
  readonly calls: readonly StepCall[]
  /** The verdict on the calls so far; undefined again as soon as there is another. */
  readonly score: ScoreVerdict | undefined
}

export interface Progress {
  readonly plans: readonly PlanProgress[]
  /** A verdict that ends the run before any plan is there. */
  readonly early: ScoreVerdict | undefined
  readonly verdicts: readonly (VerifyVerdict | ScoreVerdict)[]
  /** Plans that were asked for because the one before was sent back. */
  readonly replansUsed: number
  readonly callsUsed: number
  /** Plans that were sent back, or refused, for a capability that does not exist for the run. */
  readonly unsurfacedUses: number
  readonly checkpointId: string | undefined
}

type Event = Pick<RunEvent, 'type' | 'data'> & { readonly at?: string }
type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type OpenPlan = Mutable<Omit<PlanProgress, 'calls'>> & { calls: Mutable<StepCall>[] }
type OpenProgress = Mutable<Omit<Progress, 'plans' | 'verdicts'>> & {
  plans: OpenPlan[]
  verdicts: (VerifyVerdict | ScoreVerdict)[]
}

/** Folds the events of one run, in their order, into what the loop knows of it. */
export function readProgress(events: readonly Event[]): Progress {
  const made: OpenProgress = {
    ...{ plans: [], verdicts: [], early: undefined, checkpointId: undefined },
    ...{ replansUsed: 0, callsUsed: 0, unsurfacedUses: 0 },
  }
  for (const event of events) readers[event.type]?.(made, event)
  return made
}

const readers: Partial<Record<RunEvent['type'], (made: OpenProgress, event: Event) => void>> = {
  'plan.proposed': addPlan,
  'critic.verify': addVerify,
  'critic.score': addScore,
  'tool.started': startCall,
  'tool.finished': finishCall,
  'checkpoint.written': (made, { data }) => {
    made.checkpointId = String(data['checkpoint_id'])
  },
  'run.resumed': reopen,
}

function addPlan(made: OpenProgress, { data }: Event): void {
  const last = made.plans.at(-1)
  if (last !== undefined && isSentBack(last)) made.replansUsed++
  const plan = (data['plan'] ?? undefined) as Plan | undefined
  made.plans.push({
    ...{ index: made.plans.length, plan, calls: [], verify: undefined, score: undefined },
    problems: (data['problems'] ?? []) as unknown as readonly string[],
    planner: String(data['planner'] ?? 'scripted'),
    text: typeof data['text'] === 'string' ? data['text'] : undefined,
  })
}

/** Of what a plan does: two that do the same are one plan, whatever they are called. */
export const planHash = ({ plan }: Pick<PlanProgress, 'plan'>): string =>
  objectHash(plan === undefined ? null : ({ ...plan, plan_id: null } as unknown as Json))

/** True for a plan whose successor is a replan; one that went well and is followed by more is none. */
export const isSentBack = ({ verify, score }: Pick<PlanProgress, 'verify' | 'score'>): boolean =>
  verify?.verdict === 'replan' || (score?.verdict === 'replan' && !score.ok)

function addVerify(made: OpenProgress, { data }: Event): void {
  const verdict = data as unknown as VerifyVerdict
  const last = made.plans.at(-1)
  made.verdicts.push(verdict)
  if (last !== undefined) last.verify = verdict
  if (verdict.verdict !== 'ok' && verdict.kind === 'unsurfaced_capability') made.unsurfacedUses++
}

function addScore(made: OpenProgress, { data }: Event): void {
  const verdict = data as unknown as ScoreVerdict
  const last = made.plans.at(-1)
  made.verdicts.push(verdict)
  if (last === undefined) made.early = verdict
  else last.score = verdict
}

function startCall(made: OpenProgress, { data }: Event): void {
  const last = made.plans.at(-1)
  const call = data as unknown as Omit<StepCall, 'answer'> & { readonly tool?: string }
  if (last === undefined || last.calls.some(({ call_id }) => call_id === call.call_id)) return
  const { capability_id = call.tool ?? '', attempt = 1, step = call.call_id } = call
  last.calls.push({ ...call, capability_id, attempt, step, answer: undefined })
  last.score = undefined
  made.callsUsed++
}

/** Of two answers to one call the first counts. */
function finishCall(made: OpenProgress, { data, at = '' }: Event): void {
  if (data['status'] === 'paused') return
  const call = made.plans.at(-1)?.calls.find(({ call_id }) => call_id === data['call_id'])
  if (call !== undefined) call.answer ??= { ...(data as unknown as StepAnswer), at }
}

/** What ended the run is asked again when it goes on; what only waited is as it was. */
function reopen(made: OpenProgress): void {
  const last = made.plans.at(-1)
  made.early = undefined
  if (last?.score?.verdict === 'escalate') last.score = undefined
  if (last?.verify?.verdict === 'reject') last.verify = undefined
}

export interface FinishedStep {
  readonly step: string
  readonly call: StepCall
  readonly answer: StepAnswer
}

/** The last answer to each step of the run, oldest first; of two plans with a step of one name the later counts. */
export function finishedSteps({ plans }: Pick<Progress, 'plans'>): readonly FinishedStep[] {
  const found = new Map<string, FinishedStep>()
  for (const call of plans.flatMap(({ calls }) => calls)) {
    if (call.answer === undefined) continue
    found.delete(call.step)
    found.set(call.step, { step: call.step, call, answer: call.answer })
  }
  return [...found.values()]
}

export const wentWell = ({ status }: Pick<StepAnswer, 'status'>): boolean => status === 'ok' || status === 'completed'

/** What expressions read as `steps`. */
export const stepsRoot = (finished: readonly FinishedStep[]): { readonly [step: string]: Json } =>
  Object.fromEntries(finished.map((each) => [each.step, asStep(each)]))

export const asStep = ({ answer: { status, output, error } }: FinishedStep): Json => ({
  ...{ status, output: output ?? null },
  error: error === null ? null : { code: error.code, message: error.message },
})
