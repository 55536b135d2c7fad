// Runs both releases of the public conformance suite of MCP against our server and our client, and prints one table.
// Ends with 1 when a scenario that applies fails, or when an exception passes or names nothing. `--write` keeps the
// table in docs/conformance-mcp.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { conformance, isWrong, tableOf } from '../test/mcp/conformance-rows.ts'
import { unknownIn } from '../test/mcp/conformance-verdict.ts'
import { root } from './support/run.ts'

const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort())

const { scenarios, rows } = await conformance(stopping.signal)
const unknown = unknownIn(scenarios)
const table = tableOf(rows)
process.stdout.write(`${table}\n`)
for (const { side, scenario } of unknown) process.stdout.write(`the ${side} scenario ${scenario} does not exist\n`)
const counts = Object.entries(Object.groupBy(rows, ({ result }) => result))
process.stdout.write(`\n${counts.map(([result, { length }]) => `${length} ${result}`).join(', ')}\n`)
process.exitCode = rows.filter(isWrong).length + unknown.length > 0 ? 1 : 0
if (process.argv.includes('--write') && process.exitCode === 0) keep(table)

function keep(text: string): void {
  const path = join(root, 'docs/conformance-mcp.md')
  const [before = ''] = readFileSync(path, 'utf8').split(/^\| Release/m)
  writeFileSync(path, `${before}${text}\n`)
}
