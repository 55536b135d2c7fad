import { type Io, line, paint } from './io.ts'

/** A name and the lines that it stands for. */
export type Field = readonly [name: string, ...values: readonly string[]]

/** Names and what they say, in two columns; lines of one field stand under each other, and empty fields are left out. */
export function printFields(io: Io, fields: readonly Field[]): void {
  const shown = fields.map(([name, ...values]) => [name, values.filter((value) => value !== '')] as const)
  const width = Math.max(0, ...shown.filter(([, values]) => values.length > 0).map(([name]) => name.length))
  for (const [name, values] of shown)
    for (const [index, value] of values.entries())
      line(io, `  ${paint(io, 'dim', (index === 0 ? name : '').padEnd(width))}  ${value}`)
}
