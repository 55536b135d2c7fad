import type { TenantId } from '../../../model/identity/tenant-id.ts'
import { sessionMessages } from '../../schema.ts'
import { type Change, counted, number, oneStatement, row, type Statement, sql, text, type Work } from '../../work.ts'
import { bodyOf } from '../records.ts'

/** One message of a conversation, as it is kept. */
export interface SessionMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly run_id: string
  readonly at: string
}

/** A conversation of one agent, by the name its callers give it. */
export interface SessionName {
  readonly agentId: string
  readonly sessionId: string
}

export interface SessionWindow {
  /** The session's own id; undefined for one that has no messages yet. */
  readonly id: string | undefined
  readonly last: number
  /** The newest messages, oldest first. */
  readonly messages: readonly SessionMessage[]
}

/** The newest messages of a session: its cost does not depend on how many there are. */
export function* sessionWindow(tenant: TenantId, name: SessionName, limit: number): Work<SessionWindow> {
  const { agentId, sessionId } = name
  const [[found] = [], messages = []] = yield [
    sql(selectSession, tenant, agentId, sessionId),
    sql(selectMessages, tenant, agentId, sessionId, Math.max(limit, 1)),
  ]
  const last = messages[0] === undefined ? 0 : number(messages[0], 'message_id')
  const kept = messages.slice(0, limit).map((each) => bodyOf<SessionMessage>(each))
  return { id: found && text(found, 'id'), last, messages: kept.reverse() }
}

const selectSession = 'SELECT id FROM sessions WHERE tenant_id = ? AND agent_id = ? AND session_id = ?'
const selectMessages = `SELECT message_id, body FROM session_messages WHERE tenant_id = ? AND agent_id = ? AND session_id = ?
  ORDER BY message_id DESC LIMIT ?`

/** The name of a session that is named by its own id. */
export function* sessionOfId(tenant: TenantId, agentId: string, id: string): Work<string | undefined> {
  const select = 'SELECT session_id FROM sessions WHERE tenant_id = ? AND id = ? AND agent_id = ?'
  const found = yield* row(select, tenant, id, agentId)
  return found && text(found, 'session_id')
}

/** Adds messages behind the last one; the session is made with its first. */
export function addMessages(
  tenant: TenantId,
  { agentId, sessionId }: SessionName,
  { id, last, nowMs }: { readonly id: string; readonly last: number; readonly nowMs: number },
  messages: readonly SessionMessage[],
): readonly Statement[] {
  const rows = messages.map((message, index) => {
    return [tenant, agentId, sessionId, last + 1 + index, message.run_id, JSON.stringify(message)]
  })
  const session = sql(put, tenant, agentId, sessionId, id, nowMs, JSON.stringify({ created_at_ms: nowMs }))
  return [session, { into: sessionMessages, rows }]
}

const put = `INSERT INTO sessions (tenant_id, agent_id, session_id, id, updated_at_ms, body) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant_id, agent_id, session_id) DO UPDATE SET updated_at_ms = excluded.updated_at_ms`

/** Drops at most `limit` messages of conversations without a turn since a time, and returns how many. */
export const dropOldMessages = (beforeMs: number, limit: number): Change<number> =>
  oneStatement(
    (tenant) => counted(dropMessages, tenant, tenant, tenant, beforeMs, limit),
    (count) => count,
  )

const dropMessages = `DELETE FROM session_messages WHERE tenant_id = ? AND (agent_id, session_id, message_id) IN (
  SELECT m.agent_id, m.session_id, m.message_id FROM session_messages m
  JOIN sessions s ON s.tenant_id = m.tenant_id AND s.agent_id = m.agent_id AND s.session_id = m.session_id
  WHERE m.tenant_id = ? AND s.tenant_id = ? AND s.updated_at_ms < ? LIMIT ?)`
