import { byUnit, type Json } from '../../base/canonical.ts'
import type { JsonObject } from '../../base/object.ts'
import type { TaskTemplate } from '../../model/contract/pack.ts'
import type { Plan, PlanStep } from '../../model/contract/plan.ts'
import type { Facts } from '../../policy/conditions/values.ts'
import { resolveParams, verdictOf } from './expressions.ts'
import type { Loop } from './facts.ts'
import { finishedSteps, isSentBack, stepsRoot } from './progress.ts'

export interface PlaybookFacts {
  /** Those that the intent is eligible for. */
  readonly templates: readonly TaskTemplate[]
  readonly request: JsonObject & { readonly intent: string }
  readonly run: Json
  /** Finished steps, as expressions read them. */
  readonly steps: Json
  /** The templates whose plans were sent back, the latest last. */
  readonly sentBack: readonly string[]
  readonly planId: string
}

/**
 * The plan of the next eligible template; with none left, that of the template that was sent back last, which the loop
 * guard stops. Undefined where no template is eligible at all.
 */
export function planFromTemplates(
  given: PlaybookFacts,
): { readonly plan: Plan; readonly template_id: string; readonly planner: string } | undefined {
  const { request, run, steps, sentBack } = given
  const facts: Facts = { request, run, steps }
  const eligible = given.templates
    .filter(({ when = true }) => verdictOf(when, facts) === true)
    .sort((a, b) => (b.priority ?? 0) - (a.priority ?? 0) || byUnit(a.template_id, b.template_id))
  const fresh = eligible.find(({ template_id }) => !sentBack.includes(template_id))
  const template = fresh ?? eligible.find(({ template_id }) => template_id === sentBack.at(-1)) ?? eligible[0]
  if (template === undefined) return undefined
  const { template_id, version } = template
  return { plan: planFrom(template, facts, given), template_id, planner: `playbook:${template_id}@${version}` }
}

function planFrom(template: TaskTemplate, facts: Facts, { request, planId }: PlaybookFacts): Plan {
  const kept = template.steps.filter(({ when = true }) => verdictOf(when, facts) !== false)
  const ids = new Set(kept.map(({ id }) => id))
  const last = kept.findLast(({ on_error }) => on_error !== 'continue') ?? kept.at(-1)
  const { decision_key } = template.decision
  return {
    plan_id: planId,
    intent: request.intent,
    steps: kept.map((step) => stepFrom(step, ids, facts)),
    decision_checkpoints: last === undefined ? [] : [{ decision_id: decision_key, after_step: last.id }],
  }
}

/** What is not known yet stays an expression, and is resolved before the call. */
function stepFrom(
  { when, provides, on_error, depends_on, params, ...step }: TaskTemplate['steps'][number],
  ids: ReadonlySet<string>,
  facts: Facts,
): PlanStep {
  const known = resolveParams(params, facts, step.id).params
  const kept = depends_on?.filter((id) => ids.has(id)) ?? []
  return {
    ...step,
    params: { ...params, ...known } as PlanStep['params'],
    ...(kept.length > 0 && { depends_on: kept }),
  }
}

/** What the playbook proposes at this moment of a run: the same in the run and in its replay. */
export function planByPlaybook(given: Pick<Loop, 'progress' | 'known' | 'request' | 'context'>) {
  const { progress, known, request, context } = given
  const { tenant_id, safety_mode, intent = '', run_id } = context
  return planFromTemplates({
    ...{ templates: known.templates, planId: `plan_${run_id.slice(4)}${progress.plans.length}` },
    sentBack: progress.plans.filter(isSentBack).map(({ planner }) => /^playbook:(.+)@/.exec(planner)?.[1] ?? ''),
    request: { ...request, context: request.context ?? {} } as PlaybookFacts['request'],
    run: { tenant_id, safety_mode, intent },
    steps: stepsRoot(finishedSteps(progress)) as Json,
  })
}
