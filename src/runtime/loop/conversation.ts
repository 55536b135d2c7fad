import { limits } from '../../base/limits.ts'
import type { LlmDefinition } from '../../runs/definition.ts'
import type { PromptFacts } from '../../runs/prompt.ts'
import { asText } from '../../runs/template.ts'
import { appendBucket, readBucket } from '../../storage/entries/buckets.ts'
import { addMessages, sessionWindow } from '../../storage/tables/sessions.ts'
import type { Change } from '../../storage/work.ts'
import { uuidV7 } from '../system.ts'
import type { RunNode } from './tree.ts'

export async function readConversation(node: RunNode, { manifest }: LlmDefinition): Promise<PromptFacts['history']> {
  const { session_id: sessionId, agent_id: agentId } = node.record
  const { strategy = 'window', maxMessages = limits.sessionMessagesMax } = manifest.session ?? {}
  if (sessionId === null || strategy === 'none') return []
  const { store, tenant } = node.tree.host.deps
  const session = await store.read(() => sessionWindow(tenant, { agentId, sessionId }, maxMessages))
  node.session = session
  return session.messages
}

export async function readBuckets({ record, tree }: RunNode): Promise<PromptFacts['scratchpad']> {
  const { store, tenant } = tree.host.deps
  const read = async (contextId: string) => ({
    contextId,
    entries: (await store.read(() => readBucket(tenant, contextId))).map(
      ({ agent_id: agentId, created_at: createdAt, content }) => ({ agentId, createdAt, content }),
    ),
  })
  const found = await Promise.all(record.context_ids.map(read))
  return found.filter(({ entries }) => entries.length > 0)
}

/** What a completed run leaves in its conversation, and in the buckets it was given if its agent writes to them. */
export const endOfConversation = (node: RunNode): readonly Change[] => [...endSession(node), ...writeBuckets(node)]

function endSession({ tree, record, session }: RunNode): readonly Change[] {
  const { session_id: sessionId, agent_id: agentId, run_id, ended_at } = record
  if (session === undefined || sessionId === null || record.result === null) return []
  const { clock } = tree.host.deps
  const at = ended_at ?? ''
  const messages = [
    { role: 'user' as const, content: asText(record.input), run_id, at },
    { role: 'assistant' as const, content: asText(record.result), run_id, at },
  ]
  const place = { id: session.id ?? uuidV7(clock.now()), last: session.last, nowMs: clock.now() }
  return [
    function* (tenant) {
      yield addMessages(tenant, { agentId, sessionId }, place, messages)
    },
  ]
}

function writeBuckets({ tree, record, agent }: RunNode): readonly Change[] {
  const { manifest } = agent.definition
  const { result, context_ids: contextIds, run_id, agent_id } = record
  if (manifest.kind !== 'llm' || manifest.contextWrite !== true || result === null || result === '') return []
  const text = { content: asText(result), created_at: record.ended_at ?? '', agent_id, run_id }
  return contextIds.map((contextId) => appendBucket(contextId, text, tree.host.deps.ids))
}
