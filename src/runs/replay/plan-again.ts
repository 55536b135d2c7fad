import type { Json } from '../../base/canonical.ts'
import type { Loop } from '../plan/facts.ts'
import { type PlaybookFacts, planFromTemplates } from '../plan/playbook.ts'
import { finishedSteps, isSentBack, stepsRoot } from '../plan/progress.ts'
import { readProposal } from '../plan/proposal.ts'

export const isPlaybook = (planner: Json | undefined): boolean => String(planner).split(':')[0] === 'playbook'

/** The plan that the playbook makes at this moment of a run, as its event says it. */
export function planAgain({ progress, known, request, context }: Loop): { readonly [member: string]: Json } {
  const { tenant_id, safety_mode, intent = '', run_id } = context
  const found = planFromTemplates({
    ...{ templates: known.templates, planId: `plan_${run_id.slice(4)}${progress.plans.length}` },
    sentBack: progress.plans.filter(isSentBack).map(({ planner }) => /^playbook:(.+)@/.exec(planner)?.[1] ?? ''),
    request: { ...request, context: request.context ?? {} } as PlaybookFacts['request'],
    run: { tenant_id, safety_mode, intent },
    steps: stepsRoot(finishedSteps(progress)) as Json,
  })
  if (found === undefined) return { planner: 'playbook', problems: ['no template of the intent is eligible'] }
  const read = readProposal(found.plan, { plan_id: found.plan.plan_id, intent: request.intent })
  return { planner: found.planner, ...(read as { readonly [member: string]: Json }) }
}
