import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { RunRecord } from '../../model/run.ts'
import { callerName } from '../../model/run-id.ts'
import type { LlmDefinition } from '../../runs/definition.ts'
import type { PromptTexts } from '../../runs/prompt.ts'
import { asText } from '../../runs/template.ts'
import { appendBucket, readBucket } from '../../storage/entries/buckets.ts'
import { addMessages, sessionOfId, sessionWindow } from '../../storage/tables/runs/sessions.ts'
import type { Change, Row, Work } from '../../storage/work.ts'
import { uuidV7 } from '../system.ts'
import type { ChildRequest } from './child.ts'
import type { RunNode } from './tree.ts'

/** What the caller of a run names: a session, by its name or its own id, and buckets, each of which counts once. */
export function* readNames(
  tenant: TenantId,
  agentId: string,
  { sessionId, contextIds = [] }: Pick<ChildRequest, 'sessionId' | 'contextIds'>,
): Work<Pick<RunRecord, 'session_id' | 'context_ids'>> {
  if (contextIds.length > limits.contextIdsMax)
    throw new Failure('scratchpad.limit', `at most ${limits.contextIdsMax} buckets`, { limit: limits.contextIdsMax })
  const bad = [sessionId ?? [], contextIds].flat().find((name) => !callerName.safeParse(name).success)
  if (bad !== undefined) throw new Failure('id.invalid', `id ${quote(String(bad))} is not valid`)
  const named = isSessionId(sessionId) ? yield* sessionOfId(tenant, agentId, sessionId) : undefined
  return { session_id: named ?? sessionId ?? null, context_ids: [...new Set(contextIds)] }
}

const isSessionId = (text: string | undefined): text is string =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text ?? '')

/** Refuses a run in a session where another one works. */
export function demandFree({ session_id }: Pick<RunRecord, 'session_id'>, busy: Row | undefined): void {
  if (busy === undefined) return
  const data = { session_id, run_id: String(busy['run_id']) }
  throw new Failure('session.busy', `session ${quote(session_id ?? '')} has an active run`, data)
}

export async function readConversation(node: RunNode, { manifest }: LlmDefinition): Promise<PromptTexts['history']> {
  const { session_id: sessionId, agent_id: agentId } = node.record
  const { strategy = 'window', maxMessages = limits.sessionMessagesMax } = manifest.session ?? {}
  if (sessionId === null || strategy === 'none') return []
  const { store, tenant } = node.tree.host.deps
  const session = await store.read(() => sessionWindow(tenant, { agentId, sessionId }, maxMessages))
  node.session = session
  return session.messages
}

export async function readBuckets({ record, tree }: RunNode): Promise<PromptTexts['scratchpad']> {
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
  // No entry holds a NUL.
  const content = result === null ? '' : asText(result).replaceAll('\0', '\ufffd')
  if (manifest.kind !== 'llm' || manifest.contextWrite !== true || content.trim() === '') return []
  const text = { content, created_at: record.ended_at ?? '', agent_id, run_id }
  return contextIds.map((contextId) => appendBucket(contextId, text, tree.host.deps.ids))
}
