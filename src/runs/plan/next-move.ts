import { canonical } from '../../base/canonical.ts'
import { objectHash, sha256 } from '../../base/hash.ts'
import type { JsonObject } from '../../base/object.ts'
import type { Tier } from '../../model/contract/context.ts'
import type { ScoreVerdict, VerifyVerdict } from '../../model/contract/decision.ts'
import type { PlanStep } from '../../model/contract/plan.ts'
import { evidenceUsed, isBound, refusalOf } from './commit.ts'
import { type Ending, endingOf } from './ending.ts'
import { evidenceRefsIn, providedBy } from './evidence.ts'
import { resolveParams, verdictOf } from './expressions.ts'
import { expressionFacts, type Loop, type LoopFacts, templateStep, tierIn } from './facts.ts'
import { ruleCall } from './modes.ts'
import { inOrder } from './parse-plan.ts'
import { type PlanProgress, type Progress, wentWell } from './progress.ts'
import { escalate, isHardStop, mayContinue, mayRetry, outOfCalls, outOfReplans, score } from './score.ts'
import { callsLeft, requestedFor, verify } from './verify.ts'

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

export type Move = { readonly do: 'plan' } | NoteMove | CallMove | { readonly do: 'end'; readonly ending: Ending }

/** What the loop does next with a run. It has no effect by itself: who asks carries it out, notes it, and asks again. */
export function nextMove(progress: Progress, facts: LoopFacts): Move {
  const loop = { ...facts, progress }
  const current = progress.plans.at(-1)
  const ending = endingOf(loop)
  if (ending !== undefined) return { do: 'end', ending }
  const stop = stopIn(loop)
  if (stop !== undefined) return noteScore(stop)
  if (current === undefined || current.score?.verdict === 'replan') return { do: 'plan' }
  if (current.verify === undefined) return { do: 'note', type: 'critic.verify', data: verify(loop) }
  if (current.verify.verdict === 'replan') return { do: 'plan' }
  return carryOut(current, loop)
}

const noteScore = (data: ScoreVerdict): NoteMove => ({ do: 'note', type: 'critic.score', data })

/** A limit that was met, or an identity that lapsed: the verdict that ends the run. */
function stopIn(loop: Loop): ScoreVerdict | undefined {
  const { hardStop, identityLapsed } = loop
  if (hardStop !== undefined) {
    const { cause, ...amounts } = hardStop
    return escalate(cause, ['a limit was met'], loop, amounts)
  }
  if (identityLapsed) return escalate('identity_lapsed', ['the identity of the run lapsed'], loop)
  const { verify: verdict } = loop.progress.plans.at(-1) ?? {}
  if (verdict?.verdict === 'reject' && verdict.kind === 'budget_exceeded') return outOfCalls(loop)
  if (verdict?.verdict === 'replan' && loop.progress.replansUsed >= loop.limits.replans)
    return outOfReplans(verdict.reasons, loop)
  return undefined
}

/** The next call of a plan that was verified, or the verdict on what it came to. */
function carryOut(current: PlanProgress, loop: Loop): Move {
  for (const step of inOrder(current.plan?.steps ?? []) ?? []) {
    const last = current.calls.findLast((call) => call.step === step.id)
    if (last === undefined) {
      if (!isWanted(step, current, loop)) continue
      const { params, problems } = resolveParams(step.params, expressionFacts(loop), step.id)
      const [problem] = problems
      if (problem !== undefined) return noteScore(score({ kind: 'unresolved', problem }, loop))
      return callStep({ step, args: params, attempt: 1 }, current, loop)
    }
    const { answer, args, attempt } = last
    // Under way, or waiting for people: the same call is made again, and finds itself.
    if (answer === undefined) return callStep({ step, args, attempt, begun: true }, current, loop)
    if (wentWell(answer)) continue
    if (current.score?.verdict === 'retry' && mayRetry(last, answer))
      return callStep({ step, args, attempt: attempt + 1 }, current, loop)
    if (isConversation(current) && !isHardStop(answer)) continue
    const goesOn = templateStep(loop, current, step.id)?.on_error === 'continue' && mayContinue(answer)
    if (!goesOn || mayRetry(last, answer)) return noteScore(score({ kind: 'answer', call: last, answer }, loop))
  }
  return noteScore(score({ kind: 'done', plan: current }, loop))
}

/** A planner that is told each answer, and says itself what follows from it. */
const isConversation = ({ planner }: PlanProgress): boolean => planner.startsWith('loop:')

/** A step with a condition runs where it holds when its turn comes. */
function isWanted({ id }: PlanStep, current: PlanProgress, loop: Loop): boolean {
  const when = templateStep(loop, current, id)?.when
  return when === undefined || verdictOf(when, expressionFacts(loop)) === true
}

interface Calling {
  readonly step: PlanStep
  readonly args: JsonObject
  readonly attempt: number
  readonly begun?: boolean
}

function callStep({ step, args, attempt, begun }: Calling, current: PlanProgress, loop: Loop): Move {
  if (!begun && callsLeft(loop) === 0) return noteScore(outOfCalls(loop))
  const call = { step: step.id, capability_id: step.tool, args }
  const ruling = ruleCall(call, loop, true)
  const requested = requestedFor(step, loop)
  const isWrite = tierIn(loop, step.tool)?.kind === 'write'
  const isDeciding = isBound(call, current, loop)
  const refused = isDeciding ? refusalOf({ ...call, provides: providedBy(loop, step) }, loop) : undefined
  const index = current.plan?.steps.indexOf(step) ?? 0
  return {
    ...{ do: 'call', ...call, attempt, requested },
    callPlace: `t${current.index}c${index}${attempt > 1 ? `n${attempt}` : ''}`,
    effective: ruling?.effective ?? requested,
    highest: ruling?.highest ?? requested,
    evidence_refs: evidenceRefs(step, loop),
    ...(isWrite && { idempotency_key: givenKey(args, current) ?? idempotencyKey(loop.context.run_id, step.id, args) }),
    ...(refused && { refused }),
  }
}

/** What the step names and what the decision requires, as far as it is there. */
function evidenceRefs({ evidence_refs = [] }: PlanStep, loop: Loop): readonly string[] {
  const named = evidence_refs.filter((ref) => evidenceRefsIn(loop).has(ref))
  return [...new Set([...named, ...evidenceUsed(loop).map(({ evidence_ref }) => evidence_ref)])]
}

/** A key that a template gives is one effect over all runs. No other planner may choose one. */
const givenKey = ({ idempotency_key: key }: JsonObject, { planner }: PlanProgress): string | undefined =>
  typeof key === 'string' && planner.startsWith('playbook:') ? key : undefined

/** One effect of a step has one key, however often it is asked for. */
export function idempotencyKey(runId: string, step: string, args: JsonObject): string {
  const digest = sha256(canonical([runId, step, objectHash(args)]))
  return `ik_${BigInt(`0x${digest}`).toString(36).padStart(16, '0').slice(0, 16)}`
}
