import Table from 'cli-table3'
import { type Io, line, paint, plain, printJson } from './io.ts'

/** Rows under plain headings, no frame: easy to read and easy to cut. Without rows, what to do about it. */
export function printTable(
  io: Io,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  empty = 'none',
): void {
  const table = new Table({
    head: headings.map((heading) => paint(io, 'dim', heading)),
    chars: bare,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  })
  table.push(...rows.map((row) => row.map(plain)))
  line(io, rows.length === 0 ? paint(io, 'dim', empty) : table.toString().replace(/ +$/gm, ''))
}

/** A list, as JSON for programs or as a table for people: what stands under each heading. */
export function printList<T>(
  io: Io,
  { json }: { readonly json?: boolean },
  items: readonly T[],
  empty: string,
  columns: Readonly<Record<string, (item: T) => string>>,
): void {
  const rows = items.map((item) => Object.values(columns).map((cell) => cell(item)))
  json ? printJson(io, items) : printTable(io, Object.keys(columns), rows, empty)
}

/** Until when a key or an approver counts. */
export const goodUntil = (revokedAt: string | null, end: string | null): string =>
  revokedAt === null ? (end ?? 'until revoked') : `revoked ${revokedAt}`

const bare = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((name) => [name, '']),
)
