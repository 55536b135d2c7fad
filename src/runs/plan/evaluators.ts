import { rankOf } from '../../compile/rules.ts'
import type { EvaluatorVerdict } from '../../model/contract/decision.ts'
import { type Loop, type LoopFacts, tierIn } from './facts.ts'
import type { PlanProgress, StepCall } from './progress.ts'
import { wentWell } from './progress.ts'

type Evaluator = EvaluatorVerdict['evaluator_id']

/** What each evaluator says of the run so far. Policy and safety are floors; the others are to be as high as can be. */
export function evaluate(loop: Loop): readonly EvaluatorVerdict[] {
  const calls = loop.progress.plans.flatMap((plan) => plan.calls)
  const { wallClockMs, costCents } = loop.limits
  return [
    judged(
      'policy',
      findings(calls, (call) => policyProblem(call, loop)),
      loop,
    ),
    judged('safety', findings(calls, safetyProblem), loop),
    judged('utility', { score: utility(loop.progress.plans.at(-1)), found: [] }, loop),
    judged('latency', { score: left(wallClockMs), found: [] }, loop),
    judged('cost', { score: left(costCents), found: [] }, loop),
  ]
}

/** Those that no good result of another outweighs. */
export const floorsFailed = (verdicts: readonly EvaluatorVerdict[]): readonly EvaluatorVerdict[] =>
  verdicts.filter(({ evaluator_id, status }) => status === 'fail' && floors.has(evaluator_id))

const floors: ReadonlySet<Evaluator> = new Set<Evaluator>(['policy', 'safety'])

interface Finding {
  readonly score: number
  readonly found: readonly string[]
}

function findings(calls: readonly StepCall[], problemOf: (call: StepCall) => string | undefined): Finding {
  const found = calls.flatMap((call) => problemOf(call) ?? [])
  return { score: found.length === 0 ? 1 : 0, found }
}

/** A call that went through though it was not on the surface, or in a mode that nobody asked for. */
function policyProblem({ step, capability_id, answer, effective, requested, highest }: StepCall, loop: LoopFacts) {
  if (answer === undefined || !wentWell(answer)) return undefined
  if (tierIn(loop, capability_id) === undefined) return `step \`${step}\` called what the run does not have`
  const modes = [effective, requested, highest].flatMap((mode) => (mode === undefined ? [] : [rankOf(mode)]))
  return modes.some((rank, index) => rank < (modes[index - 1] ?? 0)) ? `step \`${step}\` ran above its mode` : undefined
}

/** What was stopped in time is no problem. */
function safetyProblem({ step, answer, effective }: StepCall): string | undefined {
  if (answer === undefined) return undefined
  if (answer.error?.code === 'resource_scope_violation') return `step \`${step}\` left its scope`
  const ran = answer.status === 'completed'
  return ran && effective === 'destructive' && !answer.approver
    ? `step \`${step}\` ran and nobody approved it`
    : undefined
}

/** The part of the plan's steps that went well. */
function utility(plan: PlanProgress | undefined): number {
  const steps = plan?.plan?.steps ?? []
  const well = steps.filter(({ id }) =>
    plan?.calls.some(({ step, answer }) => step === id && answer && wentWell(answer)),
  )
  return steps.length === 0 ? 1 : thousandths(well.length / steps.length)
}

const left = (amount: { readonly limit: number; readonly used: number } | undefined): number =>
  amount === undefined || amount.limit === 0 ? 1 : thousandths(Math.min(1, Math.max(0, 1 - amount.used / amount.limit)))

const thousandths = (score: number): number => Math.round(score * 1_000) / 1_000

function judged(
  evaluator: Evaluator,
  { score, found }: Finding,
  { packs, request, context }: LoopFacts,
): EvaluatorVerdict {
  const targets = packs.packs.packs
    .flatMap(({ evaluation_layer }) => evaluation_layer.eval_targets)
    .filter((each) => each.evaluator === evaluator && each.intent === request.intent)
  const floor = Math.max(...targets.map((each) => each.floor), floors.has(evaluator) && targets.length === 0 ? 1 : 0)
  const target = Math.max(...targets.map((each) => each.target), floor)
  return {
    evaluator_id: evaluator,
    evaluator_version: '1.0.0',
    score,
    status: score < floor ? 'fail' : score < target ? 'warn' : 'pass',
    findings: found.map((message) => ({ severity: 'error', message })),
    trace_id: context.trace_id,
  }
}
