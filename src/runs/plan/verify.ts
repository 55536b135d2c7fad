import { quote } from '../../base/failure.ts'
import { rankOf } from '../../compile/rules.ts'
import type { Tier } from '../../model/contract/context.ts'
import type { VerifyKind, VerifyVerdict } from '../../model/contract/decision.ts'
import type { Plan, PlanStep } from '../../model/contract/plan.ts'
import { Fault } from '../../policy/conditions/values.ts'
import { evidenceIn, isRuntimeEvidence, keyStates, providedBy } from './evidence.ts'
import { resolveParams } from './expressions.ts'
import { expressionFacts, type LoopFacts, specOf, tierIn } from './facts.ts'
import { callRoots, ruleCall } from './modes.ts'
import { inOrder, planProblems } from './parse-plan.ts'
import { isSentBack, type PlanProgress, type Progress } from './progress.ts'

/** Whether the last plan of a run may be carried out. The first check that fails gives the verdict. */
export function verify(progress: Progress, facts: LoopFacts): VerifyVerdict {
  const current = progress.plans.at(-1)
  if (current?.plan === undefined)
    return answer('replan', 'plan_invalid', current?.problems.length ? current.problems : ['there is no plan'])
  const given = { plan: current.plan, current, progress, facts }
  for (const check of checks) {
    const verdict = check(given)
    if (verdict !== undefined) return verdict
  }
  return { verdict: 'ok', reasons: [] }
}

interface Verifying {
  readonly plan: Plan
  readonly current: PlanProgress
  readonly progress: Progress
  readonly facts: LoopFacts
}

type Check = (given: Verifying) => VerifyVerdict | undefined

const checks: readonly Check[] = [
  hasForm,
  isSurfaced,
  isUncontrolled,
  isAllowed,
  hasSpec,
  hasRight,
  isNew,
  hasEvidence,
  hasModes,
  isWithinBudget,
]

const answer = (
  verdict: 'replan' | 'reject',
  kind: VerifyKind,
  reasons: readonly string[],
  step?: PlanStep,
): VerifyVerdict => ({ verdict, kind, reasons: [...reasons], ...(step && { offending_step: step.id }) })

function hasForm({ plan, facts }: Verifying): VerifyVerdict | undefined {
  const { intent } = facts.request
  const problems = [
    ...(plan.intent === intent ? [] : [`the plan is for intent ${quote(plan.intent)}, not ${quote(intent)}`]),
    ...planProblems(plan),
  ]
  return problems.length > 0 ? answer('replan', 'plan_invalid', problems) : undefined
}

/** The first use of what does not exist for the run may be a mistake; the second is not forgiven. */
function isSurfaced({ plan, progress, facts }: Verifying): VerifyVerdict | undefined {
  const step = plan.steps.find(({ tool }) => tierIn(facts, tool) === undefined)
  const verdict = progress.unsurfacedUses === 0 ? 'replan' : 'reject'
  return step && answer(verdict, 'unsurfaced_capability', [`there is no capability ${quote(step.tool)}`], step)
}

/** A control that fires on what is known of a step. The name of its rule comes first. */
function isUncontrolled({ plan, progress, facts }: Verifying): VerifyVerdict | undefined {
  const { mustRefuse, mustEscalate } = facts.packs.policy
  for (const step of plan.steps) {
    const capability = { id: step.tool, ...tierIn(facts, step.tool) }
    const read = { ...callRoots(knownArgs(step, progress, facts), progress, facts), capability }
    // What cannot be evaluated counts as fired; what is still open is asked again at the gateway.
    const fired = [...mustRefuse, ...mustEscalate].find(({ condition }) => {
      const verdict = condition.evaluate(read)
      return verdict === true || verdict instanceof Fault
    })
    if (fired !== undefined)
      return answer('reject', 'refused_by_control', [fired.rule, `a control forbids step ${quote(step.id)}`], step)
  }
  return undefined
}

function isAllowed({ plan, progress, facts }: Verifying): VerifyVerdict | undefined {
  for (const step of plan.steps) {
    const ruling = rulingOn(step, progress, facts)
    if (ruling?.allowed === false)
      return answer('reject', 'policy_denied', [ruling.reason, `step ${quote(step.id)} is not allowed`], step)
  }
  return undefined
}

/** The arguments that are known before the step's turn comes. */
const knownArgs = ({ id, params }: PlanStep, progress: Progress, facts: LoopFacts) =>
  resolveParams(params, expressionFacts(facts, progress), id).params

const rulingOn = (step: PlanStep, progress: Progress, facts: LoopFacts) =>
  ruleCall({ capability_id: step.tool, args: knownArgs(step, progress, facts) }, progress, facts, false)

function hasSpec({ plan, facts }: Verifying): VerifyVerdict | undefined {
  const keys = facts.known.specs.map(({ decision_key }) => decision_key)
  const strange = plan.decision_checkpoints.find(({ decision_id }) => !keys.includes(decision_id))
  return (
    strange && answer('replan', 'violates_decision_spec', [`the intent does not decide ${quote(strange.decision_id)}`])
  )
}

/** Who may not execute a decision may prepare it: nothing above `local_write`. */
function hasRight({ plan, current, facts }: Verifying): VerifyVerdict | undefined {
  const spec = specOf(facts, current)
  if (spec === undefined || spec.decision_right === 'execute') return undefined
  const step = plan.steps.find((each) => rankOf(requestedFor(each, facts)) > rankOf('local_write'))
  return (
    step &&
    answer('reject', 'violates_decision_spec', [`the agent may only ${spec.decision_right} this decision`], step)
  )
}

/** What a step declares, else the highest its capability has. */
export const requestedFor = ({ tool, approval_mode }: PlanStep, facts: LoopFacts): Tier =>
  approval_mode ?? tierIn(facts, tool)?.approval_mode ?? 'destructive'

function isNew({ current, progress }: Verifying): VerifyVerdict | undefined {
  const same = progress.plans.find((each) => each !== current && isSentBack(each) && each.hash === current.hash)
  return same && answer('reject', 'loop_guard', ['this plan was sent back before'])
}

function hasEvidence({ plan, current, progress, facts }: Verifying): VerifyVerdict | undefined {
  const provided = new Set<string>()
  const here = new Set(
    keyStates(allKeys(progress, facts), progress, facts)
      .filter(({ state }) => state === 'present' || state === 'conflict')
      .map(({ key }) => key),
  )
  const lacks = (key: string): boolean => !isRuntimeEvidence(key) && !provided.has(key) && !here.has(key)
  for (const step of inOrder(plan.steps) ?? []) {
    const own = providedBy(facts, step)
    const missing = rulingOn(step, progress, facts)?.requires.find((key) => lacks(key) && !own.includes(key))
    if (missing !== undefined) return lacking(missing, facts, step)
    for (const key of own) provided.add(key)
  }
  const required = plan.decision_checkpoints.length > 0 ? specOf(facts, current)?.required_evidence : []
  const missing = required?.find(lacks)
  return missing === undefined ? undefined : lacking(missing, facts)
}

const allKeys = (progress: Progress, facts: LoopFacts): readonly string[] => [
  ...new Set(evidenceIn(progress, facts).flatMap(({ key }) => key ?? [])),
]

function lacking(key: string, facts: LoopFacts, step?: PlanStep): VerifyVerdict {
  const reason = `evidence ${quote(key)} is missing`
  const provider = providerOf(key, facts)
  if (provider === undefined) return answer('reject', 'missing_evidence', [reason], step)
  return answer('replan', 'missing_evidence', [reason, `${quote(provider)} provides it`], step)
}

/** A capability of the run that provides a key: by itself, or as a step of a template. */
const providerOf = (key: string, facts: LoopFacts): string | undefined =>
  facts.compiled.context_ledger.tools.find((tool) => {
    const ids = facts.known.templates.flatMap(({ steps }) => steps.filter((step) => step.tool === tool))
    return [{ id: '' }, ...ids].some(({ id }) => providedBy(facts, { id, tool }).includes(key))
  })

/** A declared mode below what the rules ask for, or above what the registry has, can be declared anew. */
function hasModes({ plan, progress, facts }: Verifying): VerifyVerdict | undefined {
  for (const step of plan.steps) {
    const ruling = rulingOn(step, progress, facts)
    if (ruling === undefined || step.approval_mode === undefined) continue
    const { effective, highest } = ruling
    const asked = rankOf(step.approval_mode)
    if (asked < rankOf(effective) || asked > rankOf(highest))
      return answer(
        ...(['replan', 'approval_mode_mismatch'] as const),
        [`step ${quote(step.id)} declares \`${step.approval_mode}\`: it takes \`${effective}\` to \`${highest}\``],
        step,
      )
  }
  return undefined
}

function isWithinBudget({ plan, progress, facts }: Verifying): VerifyVerdict | undefined {
  const left = callsLeft(progress, facts)
  if (plan.steps.length <= left) return undefined
  return answer('reject', 'budget_exceeded', [`the plan has ${plan.steps.length} steps, and ${left} calls are left`])
}

export const callsUsed = ({ callsUsed: own }: Progress, { limits }: LoopFacts): number =>
  own + (limits.callsElsewhere ?? 0)

export const callsLeft = (progress: Progress, facts: LoopFacts): number =>
  Math.max(0, facts.limits.calls - callsUsed(progress, facts))
