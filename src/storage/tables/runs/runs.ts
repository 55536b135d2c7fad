import { limits } from '../../../base/limits.ts'
import type { TenantId } from '../../../model/identity/tenant-id.ts'
import type { RunEvent, RunRecord } from '../../../model/run.ts'
import { type Page, type PageOptions, page } from '../../page.ts'
import { runs } from '../../schema.ts'
import type { Change, Statement, Value, Work } from '../../work.ts'
import { counted, oneStatement, row, rows, sql, text } from '../../work.ts'
import { bodyOf } from '../records.ts'
import { putFactPaths, type StoredFacts } from './facts.ts'

/** A run with what the runtime knows of it and shows to no caller. */
export interface StoredRun<Private = unknown> {
  readonly record: RunRecord
  readonly private: Private
}

/** Adds a run. `requestKey` is unique in the tenant: a second run under it breaks the key. */
export const addRun = (tenant: TenantId, run: StoredRun, requestKey: string | null): Statement => {
  const { run_id, root_run_id, agent_id, status, session_id, mode } = run.record
  const byPacks = mode === null ? 0 : 1
  const cells = [tenant, run_id, root_run_id, agent_id, status, session_id, requestKey, 0, byPacks, JSON.stringify(run)]
  return { into: runs, rows: [cells] }
}

/** Puts the present state of a run in the place of the one before. */
export const putRun = (tenant: TenantId, run: StoredRun): Statement =>
  sql(update, run.record.status, JSON.stringify(run), run.record.status, tenant, run.record.run_id)

const update = `UPDATE runs SET status = ?, body = ?,
  cancelled = CASE WHEN ? IN ('completed', 'failed', 'cancelled') THEN 0 ELSE cancelled END
  WHERE tenant_id = ? AND run_id = ?`

export function* findRun<P>(tenant: TenantId, runId: string): Work<StoredRun<P> | undefined> {
  const found = yield* row('SELECT body FROM runs WHERE tenant_id = ? AND run_id = ?', tenant, runId)
  return found && bodyOf(found)
}

/** All runs of a tree, in the order they were started. */
export function* runsOfRoot<P>(tenant: TenantId, rootId: string): Work<readonly StoredRun<P>[]> {
  const select = 'SELECT body FROM runs WHERE tenant_id = ? AND root_run_id = ? ORDER BY run_id'
  return (yield* rows(select, tenant, rootId)).map((found) => bodyOf<StoredRun<P>>(found))
}

export function* runOfRequest<P>(tenant: TenantId, requestKey: string): Work<StoredRun<P> | undefined> {
  const found = yield* row('SELECT body FROM runs WHERE tenant_id = ? AND request_key = ?', tenant, requestKey)
  return found && bodyOf(found)
}

/** The run that works in a session of an agent now. */
export const runInSession = (tenant: TenantId, agentId: string, sessionId: string): Statement =>
  sql(
    `SELECT run_id FROM runs WHERE tenant_id = ? AND agent_id = ? AND session_id = ?
      AND session_id IS NOT NULL AND status IN ('pending', 'running', 'paused')`,
    ...[tenant, agentId, sessionId],
  )

export interface RunFilter {
  readonly root?: string
  readonly agent?: string
  readonly status?: string
  /** Run ids between which the runs of a time lie; the second is not included. */
  readonly from?: string
  readonly to?: string
}

/** Runs that pass the filter, newest first. */
export function listRuns(tenant: TenantId, filter: RunFilter, options: PageOptions = {}): Work<Page<RunRecord>> {
  const conditions: [string, Value | undefined][] = [
    ['root_run_id = ?', filter.root],
    ['agent_id = ?', filter.agent],
    ['status = ?', filter.status],
    ['run_id >= ?', filter.from],
  ]
  const used = conditions.filter((each): each is [string, Value] => each[1] !== undefined)
  const where = ['tenant_id = ?', 'run_id < ?', ...used.map(([condition]) => condition)].join(' AND ')
  const select = `SELECT run_id, body FROM runs WHERE ${where} ORDER BY run_id DESC LIMIT ?`
  const fetch = (last: string, limit: number) => rows(select, tenant, last, ...used.map(([, value]) => value), limit)
  return page(options, filter.to ?? '~', 'run_id', fetch, (found) => bodyOf<StoredRun>(found).record)
}

export interface NotedEvent {
  readonly event: RunEvent
  readonly facts?: StoredFacts | undefined
}

/** Events of a run tree; written again they stay as they are. */
export function addRunEvents(tenant: TenantId, noted: readonly NotedEvent[]): readonly Statement[] {
  const places = noted.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')
  const into = 'INSERT INTO run_events (tenant_id, root_run_id, event_id, run_id, body, facts) VALUES'
  const values = noted.flatMap(({ event, facts }): Value[] => {
    return [tenant, event.root_run_id, event.event_id, event.run_id, JSON.stringify(event), facts?.body ?? null]
  })
  const paths = noted.flatMap(({ event: { root_run_id, event_id }, facts }) =>
    facts === undefined || facts.paths.length === 0 ? [] : [putFactPaths(tenant, root_run_id, event_id, facts.paths)],
  )
  return [sql(`${into} ${places} ON CONFLICT DO NOTHING`, ...values), ...paths]
}

/** Events of a run tree strictly after a number, in order. */
export function* runEventsOf(tenant: TenantId, root: string, after: number, limit: number): Work<readonly RunEvent[]> {
  const select = `SELECT body FROM run_events WHERE tenant_id = ? AND root_run_id = ? AND event_id > ?
    ORDER BY event_id LIMIT ?`
  return (yield* rows(select, tenant, root, after, limit)).map(bodyOf<RunEvent>)
}

/** All events of a run tree, in order. */
export function* eventsOfTree(tenant: TenantId, rootId: string): Work<readonly RunEvent[]> {
  const events: RunEvent[] = []
  for (;;) {
    const some = yield* runEventsOf(tenant, rootId, events.at(-1)?.event_id ?? 0, limits.replayEventsMax)
    events.push(...some)
    if (some.length < limits.replayEventsMax) return events
  }
}

/** Asks that a run and all below it end; false if it has ended. */
export const askToCancel = (runId: string): Change<boolean> =>
  oneStatement(
    (tenant) => counted(cancel, tenant, runId),
    (count) => count > 0,
  )

const cancel = `UPDATE runs SET cancelled = 1
  WHERE tenant_id = ? AND run_id = ? AND status IN ('pending', 'running', 'paused')`

/** The runs that are asked to end and have not yet. */
export function* runsToCancel(tenant: TenantId): Work<readonly string[]> {
  const select = 'SELECT run_id FROM runs WHERE tenant_id = ? AND cancelled = 1'
  return (yield* rows(select, tenant)).map((found) => text(found, 'run_id'))
}

/** What a purge of a correlation takes with it: the runs of that root, their events, messages and legs. */
export const removeRuns = (tenant: TenantId, rootId: string): readonly Statement[] => [
  sql(
    `DELETE FROM session_messages WHERE tenant_id = ? AND run_id IN
      (SELECT run_id FROM runs WHERE tenant_id = ? AND root_run_id = ?)`,
    ...[tenant, tenant, rootId],
  ),
  ...['run_events', 'fact_paths', 'decision_records', 'runs'].map((name) =>
    sql(`DELETE FROM ${name} WHERE tenant_id = ? AND root_run_id = ?`, tenant, rootId),
  ),
  sql('DELETE FROM legs WHERE tenant_id = ? AND run_id = ?', tenant, rootId),
]
