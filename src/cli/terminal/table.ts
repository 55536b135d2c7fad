import Table from 'cli-table3'
import { type Io, line, paint, plain } from './io.ts'

/** What stands under each heading of a table of items. */
type Columns<T> = Readonly<Record<string, (item: T) => string>>

/** Items under plain headings, no frame: easy to read and easy to cut. Without any, what to do about it. */
export function printColumns<T>(io: Io, items: readonly T[], empty: string, columns: Columns<T>): void {
  const table = new Table({
    head: Object.keys(columns).map((heading) => paint(io, 'dim', heading)),
    chars: bare,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  })
  table.push(...items.map((item) => Object.values(columns).map((cell) => plain(cell(item)))))
  line(io, items.length === 0 ? paint(io, 'dim', empty) : table.toString().replace(/ +$/gm, ''))
}

/** The columns without those that give way, one after the other, until a line fits a terminal of this width. */
export function fitting<T>(
  width: number,
  items: readonly T[],
  columns: Columns<T>,
  givingWay: readonly string[],
): Columns<T> {
  const [next, ...later] = givingWay
  const needed = Object.entries(columns).reduce((sum, column) => sum + widthOf(items, column) + 2, -2)
  if (needed <= width || next === undefined) return columns
  const { [next]: _, ...rest } = columns
  return fitting(width, items, rest, later)
}

const widthOf = <T>(items: readonly T[], [name, cell]: readonly [string, (item: T) => string]): number =>
  Math.max(name.length, ...items.map((item) => plain(cell(item)).length))

/** Until when a key or an approver counts. */
export const goodUntil = (revokedAt: string | null, end: string | null): string =>
  revokedAt === null ? (end ?? 'until revoked') : `revoked ${revokedAt}`

const parts = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
]
const bare = Object.fromEntries(parts.map((name) => [name, '']))

/** A name and the lines that it stands for. */
export type Field = readonly [name: string, ...values: readonly string[]]

/** Names and what they say, in two columns; lines of one field stand under each other, and empty fields are left out. */
export const printFields = (io: Io, fields: readonly Field[]): void =>
  printPainted(
    io,
    fields.map(([name, ...values]) => [name, ...values.map(plain)]),
  )

/** The same, with values that are safe for a terminal already. */
export function printPainted(io: Io, fields: readonly Field[]): void {
  const shown = fields.map(([name, ...values]) => [name, values.filter((value) => value !== '')] as const)
  const width = Math.max(0, ...shown.filter(([, values]) => values.length > 0).map(([name]) => name.length))
  for (const [name, values] of shown)
    for (const [index, value] of values.entries())
      line(io, `  ${paint(io, 'dim', (index === 0 ? name : '').padEnd(width))}  ${value}`)
}
