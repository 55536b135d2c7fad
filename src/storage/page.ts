import { Failure } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { limits } from '../base/limits.ts'
import { type Row, rows, type Value, type Work } from './work.ts'

/** Where a page ended: opaque to callers, good for this list alone. */
export type Cursor = string

export interface PageOptions {
  readonly limit?: number
  readonly cursor?: Cursor
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Present when there may be more. */
  readonly next?: Cursor
}

/** One page by key, never by offset. `fetch` gives at most `limit` rows behind a value of `column`, at first `start`. */
export function* page<T, K extends string | number>(
  options: PageOptions,
  start: NoInfer<K>,
  column: string,
  fetch: (after: K, limit: number) => Work<readonly Row[]>,
  item: (row: Row) => T,
): Work<Page<T>> {
  const limit = boundedLimit(options.limit)
  const after = options.cursor === undefined ? start : (readCursor(options.cursor, typeof start) as K)
  const found = yield* fetch(after, limit + 1)
  const kept = found.slice(0, limit)
  const last = kept.at(-1)
  const items = kept.map(item)
  return found.length > limit && last !== undefined ? { items, next: writeCursor(last[column] as K) } : { items }
}

/** One page in the order of a column, whose value is asked for last but one in the select, and how many rows last. */
export const pageBy = <T>(
  column: string,
  options: PageOptions,
  [select, ...params]: readonly [select: string, ...params: readonly Value[]],
  item: (row: Row) => T,
  start: string | number = '',
): Work<Page<T>> => page(options, start, column, (after, limit) => rows(select, ...params, after, limit), item)

/** The whole of a list that comes in pages, from one snapshot. */
export function* allPages<T>(read: (options: PageOptions) => Work<Page<T>>): Work<readonly T[]> {
  const items: T[] = []
  for (let page = yield* read({ limit: limits.pageRowsMax }); ; ) {
    items.push(...page.items)
    if (page.next === undefined) return items
    page = yield* read({ limit: limits.pageRowsMax, cursor: page.next })
  }
}

function boundedLimit(limit: number = limits.pageRowsDefault): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= limits.pageRowsMax) return limit
  const message = `\`limit\`: a whole number from 1 to ${limits.pageRowsMax} was expected`
  throw new Failure('field.invalid', message, { pointer: '/limit' })
}

const writeCursor = (key: string | number): Cursor => Buffer.from(JSON.stringify([key])).toString('base64url')

function readCursor(cursor: Cursor, type: string): string | number {
  try {
    const read = readJson(Buffer.from(cursor, 'base64url'))
    const [key, ...rest] = Array.isArray(read) ? read : []
    if (typeof key === type && rest.length === 0 && (type === 'string' || Number.isSafeInteger(key)))
      return key as string | number
  } catch {
    // Falls through to the one refusal below.
  }
  const help = 'take it from `next` of the page before, unchanged'
  throw new Failure('cursor.invalid', 'the cursor is not valid', {}, help)
}
