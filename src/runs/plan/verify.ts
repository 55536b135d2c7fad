import { quote } from '../../base/failure.ts'
import { rankOf } from '../../compile/rules.ts'
import type { Tier } from '../../model/contract/context.ts'
import type { VerifyKind, VerifyVerdict } from '../../model/contract/decision.ts'
import type { Plan, PlanStep } from '../../model/contract/plan.ts'
import { Fault } from '../../policy/conditions/values.ts'
import { isRuntimeEvidence, keyStates, providedBy } from './evidence.ts'
import { resolveParams } from './expressions.ts'
import { expressionFacts, type Loop, specOf, tierIn } from './facts.ts'
import { callRoots, ruleCall } from './modes.ts'
import { inOrder, planProblems } from './parse-plan.ts'
import { isSentBack, planHash } from './progress.ts'

/** Whether the last plan of a run may be carried out. The first check that fails gives the verdict. */
export function verify(loop: Loop): VerifyVerdict {
  const { plan, problems = [] } = loop.progress.plans.at(-1) ?? {}
  if (plan === undefined) return replan('plan_invalid', problems.length > 0 ? problems : ['there is no plan'])
  for (const check of checks) {
    const verdict = check(plan, loop)
    if (verdict !== undefined) return verdict
  }
  return { verdict: 'ok', reasons: [] }
}

type Check = (plan: Plan, loop: Loop) => VerifyVerdict | undefined

const checks: readonly Check[] = [
  ...[hasForm, isSurfaced, isUncontrolled, isAllowed, hasSpec, hasRight],
  ...[isNew, hasEvidence, hasModes, isWithinBudget],
]

type Say = (kind: VerifyKind, reasons: readonly string[], step?: PlanStep) => VerifyVerdict

const saying =
  (verdict: 'replan' | 'reject'): Say =>
  (kind, reasons, step) => ({ verdict, kind, reasons: [...reasons], ...(step && { offending_step: step.id }) })
const replan = saying('replan')
const reject = saying('reject')

function hasForm(plan: Plan, { request: { intent } }: Loop): VerifyVerdict | undefined {
  const isOther = plan.intent !== intent
  const problems = [...(isOther ? [`the plan is for another intent than ${quote(intent)}`] : []), ...planProblems(plan)]
  return problems.length > 0 ? replan('plan_invalid', problems) : undefined
}

/** The first use of what does not exist for the run may be a mistake; the second is not forgiven. */
function isSurfaced({ steps }: Plan, loop: Loop): VerifyVerdict | undefined {
  const step = steps.find(({ tool }) => tierIn(loop, tool) === undefined)
  const say = loop.progress.unsurfacedUses === 0 ? replan : reject
  return step && say('unsurfaced_capability', [`there is no capability ${quote(step.tool)}`], step)
}

/** A control that fires on what is known of a step, the name of its rule first. What is open is asked again at the gateway. */
function isUncontrolled({ steps }: Plan, loop: Loop): VerifyVerdict | undefined {
  const { mustRefuse, mustEscalate } = loop.packs.policy
  for (const step of steps) {
    const capability = { id: step.tool, ...tierIn(loop, step.tool) }
    const read = { ...callRoots(knownArgs(step, loop), loop), capability }
    const fired = [...mustRefuse, ...mustEscalate].find(({ condition }) => {
      const verdict = condition.evaluate(read)
      return verdict === true || verdict instanceof Fault
    })
    if (fired !== undefined)
      return reject('refused_by_control', [fired.rule, `a control forbids step ${quote(step.id)}`], step)
  }
  return undefined
}

function isAllowed({ steps }: Plan, loop: Loop): VerifyVerdict | undefined {
  for (const step of steps) {
    const ruling = rulingOn(step, loop)
    if (ruling?.allowed === false)
      return reject('policy_denied', [ruling.reason, `step ${quote(step.id)} is not allowed`], step)
  }
  return undefined
}

/** The arguments that are known before the step's turn comes. */
const knownArgs = ({ id, params }: PlanStep, loop: Loop) => resolveParams(params, expressionFacts(loop), id).params

const rulingOn = (step: PlanStep, loop: Loop) =>
  ruleCall({ capability_id: step.tool, args: knownArgs(step, loop) }, loop, false)

function hasSpec({ decision_checkpoints }: Plan, { known }: Loop): VerifyVerdict | undefined {
  const keys = known.specs.map(({ decision_key }) => decision_key)
  const strange = decision_checkpoints.find(({ decision_id }) => !keys.includes(decision_id))
  return strange && replan('violates_decision_spec', [`the intent does not decide ${quote(strange.decision_id)}`])
}

/** Who may not execute a decision may prepare it: nothing above `local_write`. */
function hasRight({ steps }: Plan, loop: Loop): VerifyVerdict | undefined {
  const right = specOf(loop)?.decision_right ?? 'execute'
  if (right === 'execute') return undefined
  const step = steps.find((each) => rankOf(requestedFor(each, loop)) > rankOf('local_write'))
  return step && reject('violates_decision_spec', [`the agent may only ${right} this decision`], step)
}

/** What a step declares, else the highest its capability has. */
export const requestedFor = ({ tool, approval_mode }: PlanStep, loop: Loop): Tier =>
  approval_mode ?? tierIn(loop, tool)?.approval_mode ?? 'destructive'

function isNew(plan: Plan, { progress: { plans } }: Loop): VerifyVerdict | undefined {
  const before = plans.slice(0, -1).filter(isSentBack)
  if (!before.some((each) => planHash(each) === planHash({ plan }))) return undefined
  return reject('loop_guard', ['this plan was sent back before'])
}

/** Evidence counts as present when it was admitted, or when an earlier step of the plan provides it. */
function hasEvidence({ steps, decision_checkpoints }: Plan, loop: Loop): VerifyVerdict | undefined {
  const provided = new Set<string>()
  const lacks = (key: string): boolean =>
    !isRuntimeEvidence(key) && !provided.has(key) && !keyStates([key], loop).some(({ state }) => isThere.has(state))
  for (const step of inOrder(steps) ?? []) {
    const own = providedBy(loop, step)
    const missing = rulingOn(step, loop)?.requires.find((key) => lacks(key) && !own.includes(key))
    if (missing !== undefined) return missingEvidence(missing, loop, step)
    for (const key of own) provided.add(key)
  }
  const missing = decision_checkpoints.length > 0 ? specOf(loop)?.required_evidence.find(lacks) : undefined
  return missing === undefined ? undefined : missingEvidence(missing, loop)
}

/** A conflict is there to be resolved; the commit waits for that. */
const isThere: ReadonlySet<string> = new Set(['present', 'conflict'])

function missingEvidence(key: string, loop: Loop, step?: PlanStep): VerifyVerdict {
  const reason = `evidence ${quote(key)} is missing`
  const provider = providerOf(key, loop)
  if (provider === undefined) return reject('missing_evidence', [reason], step)
  return replan('missing_evidence', [reason, `${quote(provider)} provides it`], step)
}

/** A capability of the run that provides a key: by itself, or as a step of a template. */
const providerOf = (key: string, loop: Loop): string | undefined =>
  loop.compiled.context_ledger.tools.find((tool) => {
    const ids = loop.known.templates.flatMap(({ steps }) => steps.filter((step) => step.tool === tool))
    return [{ id: '' }, ...ids].some(({ id }) => providedBy(loop, { id, tool }).includes(key))
  })

/** A declared mode below what the rules ask for, or above what the registry has, can be declared anew. */
function hasModes({ steps }: Plan, loop: Loop): VerifyVerdict | undefined {
  for (const step of steps) {
    const { approval_mode: asked } = step
    const ruling = rulingOn(step, loop)
    if (ruling === undefined || asked === undefined) continue
    const { effective, highest } = ruling
    if (rankOf(asked) >= rankOf(effective) && rankOf(asked) <= rankOf(highest)) continue
    const reason = `step ${quote(step.id)} declares \`${asked}\`: it takes \`${effective}\` to \`${highest}\``
    return replan('approval_mode_mismatch', [reason], step)
  }
  return undefined
}

function isWithinBudget({ steps }: Plan, loop: Loop): VerifyVerdict | undefined {
  const left = callsLeft(loop)
  if (steps.length <= left) return undefined
  return reject('budget_exceeded', [`the plan has ${steps.length} steps, and ${left} calls are left`])
}

export const callsUsed = ({ progress, limits }: Loop): number => progress.callsUsed + (limits.callsElsewhere ?? 0)
export const callsLeft = (loop: Loop): number => Math.max(0, loop.limits.calls - callsUsed(loop))
