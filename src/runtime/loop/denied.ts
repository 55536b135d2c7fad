import { draftEvent } from '../../gateway/events.ts'
import type { ToolAnswer } from '../../runs/answer.ts'
import type { ToolCall } from '../../runs/turn.ts'
import { actorOf, correlationOf, type RunNode } from './tree.ts'

/** Arguments that are no JSON object never reach the gateway: the denial is on record before the model hears of it. */
export async function denyUnreadable(node: RunNode, call: ToolCall, capabilityId: string): Promise<void> {
  const { tree, record } = node
  const message = 'the arguments are no JSON object'
  const denial = { code: 'input_schema_validation_failed', message, retryable: false }
  const answer: ToolAnswer = {
    ...{ status: 'rejected', output: null },
    error: { code: 'args_invalid', message, retryable: false },
  }
  const draft = draftEvent(tree.host.deps, {
    ...{ event_type: 'execution_denied', invocation_id: call.id, outcome: 'denied', denial },
    ...{ capability_id: capabilityId.replace(/\p{Cc}/gu, '_').slice(0, 256) || '_', capability_version: null },
    ...{ correlation: correlationOf(record), subject: record.subject, actor: actorOf(record) },
  })
  await tree.commit({
    drafts: [draft],
    noting: () => {
      tree.note(record.run_id, 'tool.started', { call_id: call.id, tool: call.name, args: call.args })
      tree.noteAnswer(node, { callId: call.id, tool: call.name }, answer)
    },
  })
}
