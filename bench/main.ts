// Runs the benchmarks and prints one table: ours, what it is compared with, the ratio, the goal.
//   npm run bench                 all of them
//   npm run bench -- verify       those whose name contains the word
//   npm run bench -- --json       JSON instead of the table
//   npm run bench -- routing --data <folder>   where the labelled questions lie, instead of below AMBIT_DATA
// Every run also writes bench/results/<time>.json.

import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import type { Bench, Row } from './measure.ts'

const benches: Readonly<Record<string, () => Promise<{ default: Bench }>>> = {
  canonical: () => import('./canonical.ts'),
  grants: () => import('./grants.ts'),
  policy: () => import('./policy.ts'),
  verify: () => import('./verify.ts'),
  sqlite: () => import('./sqlite.ts'),
  record: () => import('./record.ts'),
  growth: () => import('./growth.ts'),
  http: () => import('./http.ts'),
  postgres: () => import('./postgres.ts'),
  mcp: () => import('./mcp.ts'),
  gateway: () => import('./gateway.ts'),
  calls: () => import('./calls.ts'),
  runs: () => import('./runs.ts'),
  memory: () => import('./memory.ts'),
  compile: () => import('./compile.ts'),
  loop: () => import('./loop.ts'),
  replay: () => import('./replay.ts'),
  resolve: () => import('./knowledge-resolve.ts'),
  package: () => import('./package.ts'),
  scan: () => import('./knowledge-scan.ts'),
  routing: () => import('./knowledge-routing.ts'),
}

const words = process.argv.slice(2)
const json = words.includes('--json')
const wanted = words.filter((word, at) => !word.startsWith('--') && words[at - 1] !== '--data')
const chosen = Object.entries(benches).filter(
  ([name]) => wanted.length === 0 || wanted.some((word) => name.includes(word)),
)

const rows: Row[] = []
for (const [name, load] of chosen) {
  const start = performance.now()
  process.stderr.write(`${name} … `)
  rows.push(...(await (await load()).default()))
  process.stderr.write(`${((performance.now() - start) / 1000).toFixed(1)} s\n`)
}

const report = {
  at: new Date().toISOString(),
  node: process.version,
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  rows,
}
const folder = join(import.meta.dirname, 'results')
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, `${report.at.replaceAll(':', '-')}.json`), `${JSON.stringify(report, null, 2)}\n`)

if (json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
else process.stdout.write(`${table(rows)}\n`)

function table(shown: readonly Row[]): string {
  const out = new Table({
    head: ['what', 'unit', 'ours', 'compared with', 'theirs', 'ratio', 'goal', ''],
    style: { head: [], border: [] },
  })
  for (const row of shown) {
    out.push([
      row.name,
      row.unit,
      figure(row.ours),
      row.peerName,
      figure(row.peer),
      row.ratio.toFixed(2),
      row.goal,
      row.met ? 'met' : 'MISSED',
    ])
  }
  return out.toString()
}

function figure(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(value < 10 ? 2 : 1)
}
