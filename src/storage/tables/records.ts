import { Failure, quote } from '../../base/failure.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Page, type PageOptions, pageBy } from '../page.ts'
import type { Value, Work } from '../work.ts'
import { type Change, counted, oneStatement, type Row, row, sql, type Table, text } from '../work.ts'

type Noun = 'principal' | 'key' | 'approver' | 'pack' | 'artifact'
type ColumnsOf<T> = (record: T) => Readonly<Record<string, Value>>

/** Records that are stored whole, as JSON. `columns` are those beside the body that follow from the record. */
export function storedIn<T>(table: Table, noun: Noun | 'approval', columns: ColumnsOf<T>) {
  const where = `WHERE tenant_id = ? AND ${table.key[1]} = ?`

  function* find(tenant: TenantId, id: string, lock = ''): Work<T | undefined> {
    const found = yield* row(`SELECT body FROM ${table.name} ${where}${lock}`, tenant, id)
    return found && bodyOf<T>(found)
  }

  function* get(tenant: TenantId, id: string, lock = ''): Work<T> {
    const found = yield* find(tenant, id, lock)
    if (found === undefined) throw new Failure(`${noun}.not_found`, `${noun} ${quote(id)} not found`, { id })
    return found
  }
  return {
    /** The record, or undefined. */
    find: (tenant: TenantId, id: string) => find(tenant, id),
    /** The record, or `<noun>.not_found`. */
    get: (tenant: TenantId, id: string) => get(tenant, id),
    /** Replaces a record by what `next` makes of it, with no other change in between. Its id stays. */
    amend: (id: string, next: (record: T) => T): Change<T> =>
      function* (tenant) {
        const record = next(yield* get(tenant, id, ' FOR UPDATE'))
        const values = Object.entries({ ...columns(record), body: JSON.stringify(record) })
        const others = values.filter(([column]) => !table.key.includes(column))
        const set = others.map(([column]) => `${column} = ?`).join(', ')
        yield [sql(`UPDATE ${table.name} SET ${set} ${where}`, ...others.map(([, value]) => value), tenant, id)]
        return record
      },
  }
}

/** Records with an id of their own, in order of it. `columns` are the id, and others beside the body. */
export function recordsIn<T>(table: Table, noun: Noun, columns: ColumnsOf<T>) {
  const [, idColumn = ''] = table.key
  const stored = storedIn(table, noun, columns)
  return {
    ...stored,
    /** Adds a record; one with this id already there is `<noun>.exists`. */
    add: (record: T): Change<void> =>
      function* (tenant) {
        const values = Object.values(columns(record))
        const id = String(values[0])
        if ((yield* stored.find(tenant, id)) !== undefined)
          throw new Failure(`${noun}.exists`, `${noun} ${quote(id)} exists already`, { id })
        yield [{ into: table, rows: [[tenant, ...values, JSON.stringify(record)]] }]
      },
    /** Records in order of id, from after the cursor on. */
    list(tenant: TenantId, options: PageOptions = {}): Work<Page<T>> {
      const select = `SELECT ${idColumn} AS id, body FROM ${table.name} WHERE tenant_id = ? AND ${idColumn} > ? ORDER BY ${idColumn} LIMIT ?`
      return pageBy('id', options, [select, tenant], bodyOf<T>)
    },
  }
}

export const bodyOf = <T>(found: Row): T => JSON.parse(text(found, 'body')) as T

/** Drops at most `limit` rows whose time has come, the oldest first, and returns how many. */
export function dropOldest({ name, key }: Table, time: string, nowMs: number, limit: number, condition = 'TRUE') {
  const columns = key.slice(1).join(', ')
  // The row itself is asked too: it may have been written anew since it was chosen.
  const due = `tenant_id = ? AND ${condition} AND ${time} <= ?`
  const oldest = `SELECT ${columns} FROM ${name} WHERE ${due} ORDER BY ${time} LIMIT ?`
  return oneStatement(
    (tenant) =>
      counted(`DELETE FROM ${name} WHERE ${due} AND (${columns}) IN (${oldest})`, tenant, nowMs, tenant, nowMs, limit),
    (count) => count,
  )
}
