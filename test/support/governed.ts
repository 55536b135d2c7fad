// Drives the loop without a runtime: a planner, tools and people that answer from a script, and a clock that stands still.

import { parse } from 'yaml'
import type { Json } from '../../src/base/canonical.ts'
import { readyPacks } from '../../src/compile/compile.ts'
import { checkIntent } from '../../src/compile/intent.ts'
import type { RunContext } from '../../src/model/contract/context.ts'
import type { Plan } from '../../src/model/contract/plan.ts'
import type { RunEvent } from '../../src/model/run.ts'
import type { Ending } from '../../src/runs/plan/ending.ts'
import { type LoopFacts, packCapability, rootsIn } from '../../src/runs/plan/facts.ts'
import { approvalFor, ruleCall } from '../../src/runs/plan/modes.ts'
import { type CallMove, nextMove } from '../../src/runs/plan/next-move.ts'
import { planFromTemplates } from '../../src/runs/plan/playbook.ts'
import {
  finishedSteps,
  isSentBack,
  type Progress,
  readProgress,
  type StepAnswer,
  stepsRoot,
} from '../../src/runs/plan/progress.ts'
import { compiled, loaded, scenario, stockCatalog, stockContext, stockFacts, stockPack } from './contract.ts'

export interface ToolScript {
  readonly output?: Json
  readonly status?: StepAnswer['status']
  readonly error?: string
  readonly retryable?: boolean
  readonly retries?: number
}

type ScriptedPlan = Pick<Plan, 'steps'> & Partial<Plan>

export interface RunCase {
  readonly id: string
  readonly says: string
  readonly context?: Readonly<Record<string, Json>>
  readonly safety_mode?: RunContext['safety_mode']
  readonly limits?: { readonly calls: number; readonly replans: number }
  /** In order, the last again and again; without it the playbook. */
  readonly planner?: readonly ScriptedPlan[]
  /** What the planner is called, where it is not just a script. */
  readonly strategy?: string
  readonly tools?: Readonly<Record<string, readonly ToolScript[]>>
  readonly approval?: 'approve' | 'deny' | 'expire'
  readonly hidden?: Readonly<Record<string, string>>
  readonly plan_stop?: NonNullable<LoopFacts['hardStop']>
  readonly outcome?: Json
  readonly expect: {
    readonly record: string
    readonly run: string
    readonly outcome?: string
    readonly cause?: string
    readonly limit?: number
    readonly used?: number
    readonly calls: Readonly<Record<string, number>>
    readonly calls_used?: number
    readonly last?: { readonly status: string; readonly code?: string; readonly mutations?: readonly string[] }
    readonly modes?: Readonly<Record<string, string>>
    readonly approvals?: number
    readonly plans?: number
    readonly verdicts?: readonly string[]
    readonly controls?: Readonly<Record<string, readonly string[]>>
  }
}

export const runCases = (): readonly RunCase[] => parse(scenario('runs.yaml')) as readonly RunCase[]

/** What the loop knows of the write-off before it begins, with what the case says is different. */
export function loopFacts(given: Partial<RunCase> = {}, more: Partial<LoopFacts> = {}): LoopFacts {
  const catalog = stockCatalog()
  if (given.outcome !== undefined)
    for (const { decision } of catalog.task_templates ?? []) decision.outcome = given.outcome
  const plain = stockFacts()
  const context = { ...plain.request.context, ...given.context }
  const facts = stockFacts({ request: { ...plain.request, context } })
  const run = stockContext(given.safety_mode && { safety_mode: given.safety_mode })
  const packs = readyPacks([loaded(stockPack()), loaded(catalog)])
  return {
    ...{ context: run, packs, known: checkIntent(packs.packs, facts), evidence: [], request: facts.request },
    compiled: compiled({ facts, context: run, catalog }),
    ...{ limits: given.limits ?? { calls: 8, replans: 2 }, now: facts.now },
    ...more,
  }
}

export interface Driven {
  readonly ending: Ending | 'paused'
  readonly events: readonly Event[]
  readonly progress: Progress
  /** What reached an adapter. */
  readonly effects: readonly CallMove[]
  readonly facts: LoopFacts
}

export type Event = Pick<RunEvent, 'type' | 'data' | 'at'>

const defaultTools: Readonly<Record<string, readonly ToolScript[]>> = {
  'adp_stock.lookup': [{ output: { batch_id: 'bat_5120', units: 12 } }],
  'adp_count.verify': [{ output: { verified: true } }],
  'adp_ledger.post_write_off': [{ output: { entry: 'led_1' } }],
}

/** Asks for the next move until the run ends or waits, and answers each from the script. */
export function drive(
  given: Partial<RunCase>,
  {
    facts = loopFacts(given),
    before = [],
    seen = () => undefined,
  }: {
    readonly facts?: LoopFacts
    readonly before?: readonly Event[]
    /** Looks at each move, and may change the facts it is made on. */
    readonly seen?: (events: readonly Event[], facts: LoopFacts) => Partial<LoopFacts> | undefined
  } = {},
): Driven {
  const events: Event[] = [...before]
  const effects: CallMove[] = []
  const tools = { ...defaultTools, ...given.tools }
  let known = facts
  const note = (type: RunEvent['type'], data: object): void => {
    events.push({ type, at: facts.now, data: structuredClone(data) as Event['data'] })
  }
  for (let moves = 0; moves < 500; moves++) {
    known = { ...known, ...seen(events, known) }
    const progress = readProgress(events)
    const move = nextMove(progress, known)
    if (move.do === 'end') return { ending: move.ending, events, progress, effects, facts: known }
    if (move.do === 'note') note(move.type, move.data)
    else if (move.do === 'plan') {
      if (given.plan_stop) known = { ...known, hardStop: given.plan_stop }
      else note('plan.proposed', proposal(given, progress, known))
    } else {
      const answered = gateway(move, progress, known, { given, tools, effects })
      if (answered === 'paused') {
        note('tool.finished', { call_id: callId(move), status: 'paused' })
        return { ending: 'paused', events, progress: readProgress(events), effects, facts: known }
      }
      const { do: _, args, capability_id: tool, ...rest } = move
      note('tool.started', { ...rest, call_id: callId(move), tool, args })
      note('tool.finished', { call_id: callId(move), tool, step: move.step, ...answered })
    }
  }
  throw new Error('the run did not end in 500 moves')
}

const callId = ({ callPlace }: CallMove): string => `tool_01a1f46e00000001${callPlace}`

function proposal(given: Partial<RunCase>, progress: Progress, facts: LoopFacts): object {
  const attempt = progress.plans.length
  const planId = `plan_${attempt}`
  if (given.planner !== undefined) {
    const plan = given.planner[attempt] ?? given.planner.at(-1)
    const made = plan && { plan_id: planId, intent: facts.request.intent, decision_checkpoints: [], ...plan }
    return { attempt, planner: given.strategy ?? 'scripted', plan: made ?? null, text: 'done' }
  }
  const { request, run } = rootsIn(facts) as { readonly request: { readonly intent: string }; readonly run: Json }
  const sentBack = progress.plans.filter(isSentBack).flatMap(({ planner }) => /:(.*)@/.exec(planner)?.[1] ?? [])
  const steps = stepsRoot(finishedSteps(progress))
  const made = planFromTemplates({ templates: facts.known.templates, request, run, steps, sentBack, planId })
  return { attempt, ...(made ?? { planner: 'playbook', plan: null, problems: ['no template is eligible'] }) }
}

interface Script {
  readonly given: Partial<RunCase>
  readonly tools: Readonly<Record<string, readonly ToolScript[]>>
  readonly effects: CallMove[]
}

const error = (status: string, code: string, retryable = false, more = {}) => ({
  ...{ status, output: null, error: { code, message: code, retryable }, mutations: [], policy_decision_id: 'pol_1' },
  ...more,
})

/** In the gateway's order: surfaced, the conditions of the decision, approval, adapter. */
function gateway(move: CallMove, progress: Progress, facts: LoopFacts, { given, tools, effects }: Script) {
  const ruling = ruleCall(move, { ...facts, progress }, true)
  if (ruling === undefined) return error('rejected', 'capability_unsurfaced')
  if (move.refused) return error('blocked', move.refused.code)
  if (!ruling.allowed) return error('blocked', ruling.reason)
  const { needed, missing } = approvalFor(ruling, facts.context.safety_mode)
  if (missing) return error('blocked', 'approval_gate_missing')
  if (needed && given.approval === undefined) return 'paused'
  if (needed && given.approval !== 'approve')
    return error('blocked', given.approval === 'deny' ? 'approval_denied' : 'approval_expired')
  const script = tools[move.capability_id] ?? [{}]
  const same = effects.filter(({ capability_id }) => capability_id === move.capability_id).length
  const answer = script[same] ?? script.at(-1) ?? {}
  const { status, output = null, retryable, retries = 0 } = answer
  if (status === 'rejected') return error(status, answer.error ?? 'args_invalid')
  effects.push(move)
  if (answer.error !== undefined) return error(status ?? 'error', answer.error, retryable, { retries })
  const mutations = packCapability(facts, move.capability_id)?.mutations ?? []
  const isWrite = move.idempotency_key !== undefined
  const done = { output, error: null, policy_decision_id: 'pol_1', rule_ids: [...ruling.matched], retries }
  return {
    ...{ ...done, status: isWrite ? 'completed' : 'ok', mutations: isWrite ? [...mutations] : [] },
    ...(needed && { approver: 'usr_controller' }),
  }
}
