import { canonical, type Json } from '../../base/canonical.ts'
import { policiesOf } from '../../compile/policies.ts'
import { tiersIn } from '../../compile/surface.ts'
import type { ApprovalGate } from '../../model/contract/pack.ts'
import { compilePolicies, type PolicySet } from '../../policy/policies.ts'
import type { CompiledRun } from '../plan/compile-run.ts'
import type { Ending } from '../plan/ending.ts'
import type { Loop } from '../plan/facts.ts'
import { ruleCall } from '../plan/modes.ts'
import { type CallMove, nextMove } from '../plan/next-move.ts'
import { planHash, readProgress, type StepAnswer, type StepCall } from '../plan/progress.ts'
import { absentFacts, type Judgement, judgeCall } from './judge-call.ts'
import { planAgain } from './plan-again.ts'
import { callIdOf, isMove, momentOf, type RecordedEvent, type StoredRun } from './stored.ts'

/** What a run comes to when its recorded answers are all there is. */
export interface Played {
  readonly run: CompiledRun
  readonly policies: PolicySet
  readonly events: readonly RecordedEvent[]
  /** What packs said to each call that is on record, by its id. */
  readonly judgements: ReadonlyMap<string, Judgement>
  /** Rules that had a say, as `bundle#rule`. */
  readonly rules: ReadonlySet<string>
  /** Gates that calls have waited at. */
  readonly gates: readonly string[]
  /** How it ended; that it waits for people; or what is on no record and it would go on with. */
  readonly end: { readonly ending: Ending } | { readonly waits: true } | { readonly missing: readonly string[] }
}

const movesMax = 10_000

/** Plays a run with its own packs, or with others than `before`: with those a result counts only where it would come again. */
export function play(stored: StoredRun, run: CompiledRun, before?: Played): Played {
  const policies = compilePolicies(policiesOf(run.packs.packs, tiersIn(run.compiled)))
  const player = openPlayer(stored, run, policies, before)
  let end: Played['end'] | undefined
  for (let move = 0; end === undefined; move++) end = move < movesMax ? player.next() : { missing: ['end'] }
  const { events, judgements, rules, gates } = player
  return { run, policies, events, judgements, rules, gates, end }
}

function openPlayer(stored: StoredRun, run: CompiledRun, policies: PolicySet, before: Played | undefined) {
  const recorded = stored.events.filter(isMove)
  const calls = readProgress(stored.events).plans.flatMap((plan) => plan.calls)
  const events: RecordedEvent[] = []
  const judgements = new Map<string, Judgement>()
  const rules = new Set<string>()
  const gates: string[] = []
  let made = 0
  let isSame = true
  let now = run.facts.now
  const note = (type: RecordedEvent['type'], data: object): void => {
    events.push({ event_id: events.length + 1, type, at: now, data: data as RecordedEvent['data'] })
  }
  /** The move that the recorded run made here, as long as all before it is the same. */
  const guide = (): RecordedEvent | undefined => (isSame ? recorded[made] : undefined)
  const follow = (): void => {
    const [last, same] = [events.findLast(isMove), guide()]
    isSame = same !== undefined && last !== undefined && identityOf(same) === identityOf(last)
    made++
  }
  const makePlan = (loop: Loop): Played['end'] | undefined => {
    const plans = recorded.filter(({ type }) => type === 'plan.proposed')
    const place = loop.progress.plans.length
    const own = plans[place]
    const isAsked = before === undefined || (isSame && isPromptSame(run, before.run))
    const { planner = loop.known.templates.length > 0 ? 'playbook' : 'model' } = stored.envelope
    if (planner === 'playbook') note('plan.proposed', { used, ...planAgain(loop) })
    else if (isAsked && own !== undefined) note('plan.proposed', own.data)
    else return { missing: [`plan ${place}`] }
    return undefined
  }
  const makeCall = (move: CallMove, loop: Loop): Played['end'] | undefined => {
    const same = findSame(move, calls, events)
    const call_id = same?.call_id ?? callIdOf(stored.runId, move.callPlace)
    const missing = before === undefined ? [] : absentFacts(move, loop, policies, before)
    if (missing.length > 0) return { missing }
    const judged = judgeCall(move, loop, policies)
    const ruling = ruleCall(move, loop, true)
    for (const rule of ruling?.matched ?? []) rules.add(rule)
    judgements.set(call_id, judged)
    if (judged.is === 'waits') for (const { gate_id } of judged.gates) gates.push(gate_id)
    const answer = answerFor({ judged, same, move, events, stored, before })
    if ('waits' in answer || 'missing' in answer) return answer
    const { do: _, callPlace, ...call } = move
    note('tool.started', { ...call, call_id, tool: move.capability_id })
    now = answer.at === '' ? now : answer.at
    const { approver, ...rest } = answer
    const isApproved = approver !== undefined && (before === undefined || judged.is === 'waits')
    note('tool.finished', {
      ...{ ...rest, call_id, step: move.step, rule_ids: ruling?.matched ?? [] },
      ...(isApproved && { approver }),
    })
    return undefined
  }
  return {
    ...{ events, judgements, rules, gates },
    next(): Played['end'] | undefined {
      const same = guide()
      const moment = momentOf(run, same ?? { at: now, type: 'run.started', data: {} })
      const loop: Loop = { ...moment, progress: readProgress(events) }
      now = moment.now
      const move = nextMove(loop.progress, loop)
      if (move.do === 'end') return { ending: move.ending }
      if (move.do === 'note') note(move.type, move.data)
      const end = move.do === 'plan' ? makePlan(loop) : move.do === 'call' ? makeCall(move, loop) : undefined
      if (end === undefined) follow()
      return end
    },
  }
}

const used = { input_tokens: 0, output_tokens: 0, cost_cents: 0 }

/** What makes two moves the same one. */
export function identityOf({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): string {
  if (type === 'plan.proposed') return `${type} ${planHash((data['plan'] ?? undefined) as never)}`
  const { verdict, kind, cause, ok, step, capability_id, args, reasons } = data
  const said = type === 'tool.started' ? [step, capability_id, args] : [verdict, kind, cause, ok, reasons]
  return canonical([type, ...said.map((each) => each ?? null)] as Json)
}

const isPromptSame = (a: CompiledRun, b: CompiledRun): boolean =>
  canonical(a.compiled.compiled_prompt as unknown as Json) === canonical(b.compiled.compiled_prompt as unknown as Json)

const callKey = ({ capability_id, args }: Pick<StepCall, 'capability_id' | 'args'>): string =>
  canonical([capability_id, args])

/** The recorded call that asked the same, for the first time or as often as it was asked by now. */
function findSame(move: CallMove, calls: readonly StepCall[], events: readonly RecordedEvent[]): StepCall | undefined {
  const key = callKey(move)
  const before = events.filter(({ type, data }) => type === 'tool.started' && callKey(data as never) === key)
  return calls.filter((call) => callKey(call) === key)[before.length]
}

interface Answering {
  readonly judged: Judgement
  readonly same: StepCall | undefined
  readonly move: CallMove
  readonly events: readonly RecordedEvent[]
  readonly stored: StoredRun
  readonly before: Played | undefined
}

type Answer = StepAnswer | { readonly waits: true } | { readonly missing: readonly string[] }

function answerFor({ judged, same, move, events, stored, before }: Answering): Answer {
  const missing = { missing: [`result of ${move.capability_id} (step ${move.step})`] }
  if (before === undefined) return same === undefined ? missing : (same.answer ?? { waits: true })
  if (judged.is === 'refused') return refusal(judged)
  const earlier = same && before.judgements.get(same.call_id)
  // A person decides who was not asked then: their answer is unknown, and the run waits for it.
  if (judged.is === 'waits' && !(earlier?.is === 'waits' && sameGates(judged.gates, earlier.gates)))
    return { waits: true }
  if (judged.is === 'waits') return same?.answer ?? { waits: true }
  if (same?.answer === undefined || earlier === undefined || earlier.is === 'refused') return missing
  if (earlier.is === 'waits' && !reachedAdapter(same.answer)) return missing
  return effectsBefore(stored.events, same.call_id) === effectsBefore(events) ? same.answer : missing
}

const refusal = ({ status, code, message }: Extract<Judgement, { is: 'refused' }>): StepAnswer => ({
  ...{ status, output: null, error: { code, message, retryable: false }, mutations: [], at: '' },
})

const reachedAdapter = ({ status }: StepAnswer): boolean => status !== 'blocked' && status !== 'rejected'

/** The same people are asked, whatever makes the gate ask them. */
const sameGates = (a: readonly ApprovalGate[], b: readonly ApprovalGate[]): boolean => askedOf(a) === askedOf(b)
const askedOf = (gates: readonly ApprovalGate[]): string =>
  JSON.stringify(
    gates.map(({ gate_id, required_approver_role, quorum = 1 }) => [gate_id, required_approver_role, quorum]),
  )

/** What had taken effect before a call, or by now: a result of the same call comes again only in the same world. */
function effectsBefore(events: readonly RecordedEvent[], callId?: string): string {
  const at = events.findIndex(({ type, data }) => type === 'tool.started' && data['call_id'] === callId)
  const { plans } = readProgress(at < 0 ? events : events.slice(0, at))
  const ran = plans.flatMap(({ calls }) =>
    calls.filter(({ answer }) => answer && !/^(?:ok|blocked|rejected)$/.test(answer.status)),
  )
  return JSON.stringify(ran.map(callKey))
}
