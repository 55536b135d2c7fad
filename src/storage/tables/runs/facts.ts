import type { TenantId } from '../../../model/identity/tenant-id.ts'
import { row, rows, type Statement, sql, text, type Value, type Work } from '../../work.ts'

/** The facts that a run was compiled from, kept beside the event that says so, with the granted paths they were read under. */
export interface StoredFacts {
  readonly body: string
  readonly paths: readonly string[]
}

/** Says where facts are that were read under these paths. */
export function putFactPaths(tenant: TenantId, rootId: string, eventId: number, paths: readonly string[]): Statement {
  const places = paths.map(() => '(?, ?, ?, ?)').join(', ')
  const values = paths.flatMap((path): Value[] => [tenant, path, rootId, eventId])
  const into = 'INSERT INTO fact_paths (tenant_id, path, root_run_id, event_id)'
  return sql(`${into} VALUES ${places} ON CONFLICT DO NOTHING`, ...values)
}

/** The facts beside an event; undefined where there are none, or where they were erased. */
export function* factsAt(tenant: TenantId, rootId: string, eventId: number): Work<string | undefined> {
  const select = 'SELECT facts FROM run_events WHERE tenant_id = ? AND root_run_id = ? AND event_id = ?'
  const found = yield* row(select, tenant, rootId, eventId)
  return found === undefined || found['facts'] === null ? undefined : text(found, 'facts')
}

/** Takes facts away that may hold content of a scope: what was read at it, below it, or from above it. */
export function* eraseFacts(tenant: TenantId, scope: string): Work<void> {
  const above = scope.split('/').map((_, index, all) => all.slice(0, index + 1).join('/'))
  const select = `SELECT DISTINCT root_run_id, event_id FROM fact_paths
    WHERE tenant_id = ? AND (path IN (${above.map(() => '?').join(', ')}) OR (path > ? AND path < ?))`
  const found = yield* rows(select, tenant, ...above, `${scope}/`, `${scope}0`)
  const erase = 'UPDATE run_events SET facts = NULL WHERE tenant_id = ? AND root_run_id = ? AND event_id = ?'
  for (const { root_run_id = '', event_id = 0 } of found) yield [sql(erase, tenant, root_run_id, event_id)]
}
