import type { Failure } from '../base/failure.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'

export type Value = string | number | Uint8Array | null
export type Row = Readonly<Record<string, Value>>

export interface Table {
  readonly name: string
  /** Column → type, in order; a `?` after the type allows null. */
  readonly columns: Readonly<Record<string, ColumnType | `${ColumnType}?`>>
  /** The primary key; its first column is the tenant. */
  readonly key: readonly string[]
}
export type ColumnType = 'text' | 'number' | 'bytes'

/**
 * One statement with `?` for each parameter, or whole rows for one table; drivers spell both for their database. A
 * counted one is answered by one row, which says in `count` how many it has touched: that is far cheaper than `RETURNING`.
 * `postgres` is what PostgreSQL is asked instead, where the two have no words in common.
 */
export type Statement =
  | {
      readonly sql: string
      readonly params: readonly Value[]
      readonly counted?: true
      readonly postgres?: { readonly sql: string; readonly params: readonly Value[] }
    }
  | { readonly into: Table; readonly rows: readonly (readonly Value[])[] }

/**
 * Database work as data: it yields statements that may travel together, and gets their rows back. The same work
 * runs in one go on an embedded database and over a network, and may be run again from the start.
 */
export type Work<T> = Generator<readonly Statement[], T, readonly (readonly Row[])[]>

/** A change of one tenant's state. Throws a `Failure` when what it relies on does not hold; then nothing is kept. */
export interface Change<T = unknown> {
  (tenant: TenantId): Work<T>
  /** Of a change that is one statement: it travels with others and with sealed events, so it must not touch events. */
  readonly single?: Single<T>
  /** Of a change that takes events away: what was remembered of the tenant's chains does not hold any more. */
  readonly forgets?: true
}

export interface Single<T> {
  readonly statement: (tenant: TenantId) => Statement
  /** The value of the change, from the rows of its statement; or its `Failure`. */
  readonly read: (rows: readonly Row[]) => T
}

/** A change that is one counted statement. Its value is made of how many rows that has touched. */
export function oneStatement<T = void>(
  statement: Single<T>['statement'],
  toValue: (count: number) => T = () => undefined as T,
): Change<T> {
  const read: Single<T>['read'] = ([answer]) => toValue(Number(answer?.['count']))
  const change = function* (tenant: TenantId): Work<T> {
    const [answer = []] = yield [statement(tenant)]
    return read(answer)
  }
  return Object.assign(change, { single: { statement, read } })
}

/** The same, of a statement that is to touch one row; `otherwise` is why it touches none. */
export const touchOne = (statement: Single<void>['statement'], otherwise: () => Failure): Change<void> =>
  oneStatement(statement, (count) => {
    if (count === 0) throw otherwise()
  })

export const sql = (text: string, ...params: readonly Value[]): Statement => ({ sql: text, params })

export const counted = (text: string, ...params: readonly Value[]): Statement => ({ sql: text, params, counted: true })

/** The rows of one statement. */
export function* rows(text: string, ...params: readonly Value[]): Work<readonly Row[]> {
  const [answer = []] = yield [sql(text, ...params)]
  return answer
}

/** The first row of one statement. */
export function* row(text: string, ...params: readonly Value[]): Work<Row | undefined> {
  const [first] = yield* rows(text, ...params)
  return first
}

/** Several changes as one, in order. */
export function inOrder(...changes: readonly Change[]): Change {
  const [only, ...others] = changes
  if (only !== undefined && others.length === 0) return only
  return function* (tenant) {
    for (const change of changes) yield* change(tenant)
  }
}

/** A row as a record, `event_id` as `eventId`: the columns that were asked for must be the members of `T`. */
export function record<T>(row: Row): T {
  const members: Record<string, Value> = {}
  for (const column of Object.keys(row)) members[memberName(column)] = row[column] ?? null
  return members as T
}

const memberNames = new Map<string, string>()

/** The member of a record that a column holds. */
export function memberName(column: string): string {
  const known = memberNames.get(column) ?? column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  memberNames.set(column, known)
  return known
}

export const text = (row: Row, column: string): string => String(row[column])
export const number = (row: Row, column: string): number => Number(row[column])
