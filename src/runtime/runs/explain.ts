import type { RunExplanation } from '../../model/requests.ts'
import type { RunEvent } from '../../model/run.ts'
import type { ToolAnswer } from '../../runs/answer.ts'
import { eventsOfTree } from '../../storage/tables/runs.ts'
import type { OperationContext } from '../operations/context.ts'
import { runFor } from './read.ts'

/** Why a run was given no more than it was: its record and its own events say it, and nothing is worked out anew. */
export async function explainRun(context: OperationContext, id: string): Promise<RunExplanation> {
  const { run_id, root_run_id, agent_id, agent_version, status, error, surface, warnings } = await runFor(context, id)
  const events = await context.ambit.store.read(() => eventsOfTree(context.caller.tenant, root_run_id))
  return {
    ...{ run_id, agent: `${agent_id}@${agent_version}`, status, error },
    hidden: [...surface.hidden],
    dropped: [...warnings],
    refused: events.filter((event) => event.run_id === run_id).flatMap(refusalIn),
  }
}

function refusalIn({ type, data }: RunEvent): RunExplanation['refused'] {
  if (type !== 'tool.finished') return []
  const { call_id, tool, status, error } = data as unknown as ToolAnswer & { call_id: string; tool: string }
  if (error === null) return []
  const { code, message, rule_id = null } = error
  return [{ call_id, tool, status, code, message, rule: rule_id }]
}
