// Runs both releases of the public conformance suite of MCP against our server and our client, and prints one table.
// Ends with 1 when a scenario that applies fails, or when an exception passes or names nothing. `--write` keeps the
// table in docs/conformance-mcp.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startConformanceServer } from '../test/mcp/conformance-server.ts'
import { checkClient, checkServer, type Release, releases, scenariosOf } from '../test/mcp/conformance-suite.ts'
import { areaRows, isInArea, judged, type Row, type Scenario, unknownIn } from '../test/mcp/conformance-verdict.ts'
import { root } from './support/run.ts'

const stopping = new AbortController()
const { signal } = stopping
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort())

const known: Scenario[] = []
const rows: Row[] = []
const server = await startConformanceServer()
try {
  for (const release of releases) {
    const scenarios = await scenariosOf(release)
    known.push(...scenarios)
    for (const revision of release.revisions) {
      const applying = scenarios.filter((one) => one.revisions.includes(revision) && !isInArea(one))
      rows.push(...(await serverRows(release, revision, applying)), ...(await clientRows(release, revision, applying)))
    }
    rows.push(...areaRows(release.version, scenarios))
  }
} finally {
  await server.close()
}
report(rows.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)))

async function serverRows(release: Release, revision: string, scenarios: readonly Scenario[]): Promise<Row[]> {
  const found = await checkServer(release, server.url, { revision, signal })
  return scenarios
    .filter(({ side }) => side === 'server')
    .map(({ side, name }) => judged({ release: release.version, side, scenario: name, revision }, found.get(name)))
}

async function clientRows(release: Release, revision: string, scenarios: readonly Scenario[]): Promise<Row[]> {
  const made: Row[] = []
  for (const { side, name } of scenarios.filter((one) => one.side === 'client')) {
    const once = async () => {
      const found = await checkClient(release, { revision, scenario: name, signal })
      return judged({ release: release.version, side, scenario: name, revision }, found.get(name))
    }
    // The suite measures when a client comes back: a busy machine may be late once.
    const row = await once()
    made.push(row.result === 'FAIL' ? await once() : row)
  }
  return made
}

/** By side, then as listed: areas that are not run come last. */
function placeOf({ release, side, revision }: Row): string {
  return [side === 'server' ? 0 : side === 'client' ? 1 : 2, release, revision].join()
}

function report(all: readonly Row[]): void {
  const unknown = unknownIn(known)
  const table = tableOf(all)
  process.stdout.write(`${table}\n`)
  for (const { side, scenario } of unknown) process.stdout.write(`the ${side} scenario ${scenario} does not exist\n`)
  const wrong = all.filter(({ result }) => result === 'FAIL' || result === 'STALE')
  const counts = Object.entries(Object.groupBy(all, ({ result }) => result))
  process.stdout.write(`\n${counts.map(([result, { length }]) => `${length} ${result}`).join(', ')}\n`)
  process.exitCode = wrong.length + unknown.length > 0 ? 1 : 0
  if (process.argv.includes('--write') && process.exitCode === 0) keep(table)
}

function tableOf(all: readonly Row[]): string {
  const headings = ['Release', 'Side', 'Scenario', 'Revision', 'Result', 'Reason']
  const cells = all.map(({ release, side, scenario, revision, result, reason }) =>
    [release, side, scenario, revision, result, reason].map((cell) => cell.replaceAll('|', '\\|')),
  )
  return [headings, headings.map(() => '---'), ...cells].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

function keep(table: string): void {
  const path = join(root, 'docs/conformance-mcp.md')
  const [before = ''] = readFileSync(path, 'utf8').split(/^\| Release/m)
  writeFileSync(path, `${before}${table}\n`)
}
