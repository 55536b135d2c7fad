import type { Json } from '../../../base/canonical.ts'
import { planFromTemplates } from '../../../runs/plan/playbook.ts'
import { finishedSteps, isSentBack, readProgress, stepsRoot } from '../../../runs/plan/progress.ts'
import type { RunNode } from '../tree.ts'
import type { Governed } from './governed.ts'

/** Asks for the next plan and notes it. A plan that there is not is noted as one that cannot be read. */
export async function propose(node: RunNode, governed: Governed): Promise<void> {
  const { tree, record } = node
  const progress = readProgress(tree.journal.eventsOf(record.run_id))
  const { facts, context, known } = governed
  const sentBack = progress.plans.filter(isSentBack).map(({ planner }) => templateId(planner))
  const { tenant_id, safety_mode, intent = '' } = context
  const found = planFromTemplates({
    ...{ templates: known.templates, sentBack, planId: `plan_${record.run_id.slice(4)}${progress.plans.length}` },
    request: { ...facts.request, context: facts.request.context ?? {} } as never,
    run: { tenant_id, safety_mode, intent },
    steps: stepsRoot(finishedSteps(progress)) as Json,
  })
  const said =
    found === undefined
      ? { planner: 'playbook', plan: null, problems: ['no template of the intent is eligible'] }
      : { planner: found.planner, plan: found.plan }
  tree.journal.note(record.run_id, 'plan.proposed', {
    ...{ attempt: progress.plans.length, used: noTokens },
    ...(said as unknown as { [member: string]: Json }),
  })
}

const noTokens = { input_tokens: 0, output_tokens: 0, cost_cents: 0 }

const templateId = (planner: string): string => /^playbook:(.+)@/.exec(planner)?.[1] ?? ''
