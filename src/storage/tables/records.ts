import { Failure, quote } from '../../base/failure.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Page, type PageOptions, pageBy } from '../page.ts'
import { type Change, type Row, row, sql, type Table, text, type Value, type Work } from '../work.ts'

export interface Records<T> {
  /** Adds a record; one with this id already there is `<noun>.exists`. */
  add(record: T): Change<void>
  /** The record, or undefined. */
  find(tenant: TenantId, id: string): Work<T | undefined>
  /** The record, or `<noun>.not_found`. */
  get(tenant: TenantId, id: string): Work<T>
  /** Replaces a record by what `next` makes of it, with no other change in between. */
  amend(id: string, next: (record: T) => T): Change<T>
  /** Records in order of id, from after the cursor on. */
  list(tenant: TenantId, options?: PageOptions): Work<Page<T>>
}

/** Records that are kept whole, as JSON, under their tenant and id. */
export function recordsIn<T>(
  table: Table,
  noun: 'principal' | 'key' | 'approver',
  columns: (record: T) => readonly Value[],
): Records<T> {
  const [, idColumn = ''] = table.key
  const missing = (id: string): Failure => new Failure(`${noun}.not_found`, `${noun} ${quote(id)} not found`, { id })

  function* find(tenant: TenantId, id: string): Work<T | undefined> {
    const found = yield* row(`SELECT body FROM ${table.name} WHERE tenant_id = ? AND ${idColumn} = ?`, tenant, id)
    return found && bodyOf<T>(found)
  }
  return {
    find,
    add: (record) =>
      function* (tenant) {
        const [id = ''] = columns(record)
        if ((yield* find(tenant, String(id))) !== undefined) {
          throw new Failure(`${noun}.exists`, `${noun} ${quote(String(id))} exists already`, { id })
        }
        yield [{ into: table, rows: [[tenant, ...columns(record), JSON.stringify(record)]] }]
      },
    *get(tenant, id) {
      const found = yield* find(tenant, id)
      if (found === undefined) throw missing(id)
      return found
    },
    amend: (id, next) =>
      function* (tenant) {
        const select = `SELECT body FROM ${table.name} WHERE tenant_id = ? AND ${idColumn} = ? FOR UPDATE`
        const found = yield* row(select, tenant, id)
        if (found === undefined) throw missing(id)
        const record = next(bodyOf<T>(found))
        const update = `UPDATE ${table.name} SET body = ? WHERE tenant_id = ? AND ${idColumn} = ?`
        yield [sql(update, JSON.stringify(record), tenant, id)]
        return record
      },
    *list(tenant, options = {}) {
      const select = `SELECT ${idColumn} AS id, body FROM ${table.name} WHERE tenant_id = ? AND ${idColumn} > ? ORDER BY ${idColumn} LIMIT ?`
      return yield* pageBy('id', options, [select, tenant], bodyOf<T>)
    },
  }
}

export const bodyOf = <T>(found: Row): T => JSON.parse(text(found, 'body')) as T
