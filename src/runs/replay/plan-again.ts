import type { Json } from '../../base/canonical.ts'
import type { Loop } from '../plan/facts.ts'
import { planByPlaybook } from '../plan/playbook.ts'
import { readProposal } from '../plan/proposal.ts'

export const isPlaybook = (planner: Json | undefined): boolean => String(planner).split(':')[0] === 'playbook'

/** The plan that the playbook makes at this moment of a run, as its event says it. */
export function planAgain(loop: Loop): { readonly [member: string]: Json } {
  const found = planByPlaybook(loop)
  if (found === undefined) return { planner: 'playbook', problems: ['no template of the intent is eligible'] }
  const read = readProposal(found.plan, { plan_id: found.plan.plan_id, intent: loop.request.intent })
  return { planner: found.planner, ...(read as { readonly [member: string]: Json }) }
}
