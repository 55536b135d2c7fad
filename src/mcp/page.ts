import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

const perPage = 100

export interface Page<T> {
  readonly items: readonly T[]
  readonly next?: string
}

/** One page of a list, in the order of its keys: what comes or goes elsewhere cannot shift it. */
export function page<T>(list: readonly T[], cursor: string | undefined, keyOf: (item: T) => string): Page<T> {
  const after = cursor === undefined ? '' : readCursor(cursor)
  const left = list.filter((item) => keyOf(item) > after).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const items = left.slice(0, perPage)
  const last = items.at(-1)
  if (left.length <= perPage || last === undefined) return { items }
  return { items, next: Buffer.from(`k:${keyOf(last)}`).toString('base64url') }
}

function readCursor(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text.startsWith('k:')) return text.slice(2)
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the cursor is not one of this list')
}
