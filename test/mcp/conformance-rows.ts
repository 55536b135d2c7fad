// All that the public conformance suite of MCP finds of our server and our client.

import { startConformanceServer } from './conformance-server.ts'
import { checkClient, checkServer, type Release, releases, scenariosOf } from './conformance-suite.ts'
import { areaRows, isInArea, judged, type Row, type Scenario } from './conformance-verdict.ts'

export interface Conformance {
  readonly scenarios: readonly Scenario[]
  readonly rows: readonly Row[]
}

/** Runs both releases in the revisions that they know. */
export async function conformance(signal?: AbortSignal): Promise<Conformance> {
  const known: Scenario[] = []
  const rows: Row[] = []
  const server = await startConformanceServer()
  try {
    for (const release of releases) {
      const scenarios = await scenariosOf(release)
      known.push(...scenarios)
      for (const revision of release.revisions) {
        const applying = scenarios.filter((one) => one.revisions.includes(revision) && !isInArea(one))
        const run = { release, scenarios: applying, target: { revision, ...(signal && { signal }) } }
        rows.push(...(await serverRows(run, server.url)), ...(await clientRows(run)))
      }
      rows.push(...areaRows(release.version, scenarios))
    }
  } finally {
    await server.close()
  }
  return { scenarios: known, rows: rows.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)) }
}

interface Run {
  readonly release: Release
  readonly scenarios: readonly Scenario[]
  readonly target: { readonly revision: string; readonly signal?: AbortSignal }
}

async function serverRows({ release, scenarios, target }: Run, url: string): Promise<Row[]> {
  const found = await checkServer(release, url, target)
  return scenarios
    .filter(({ side }) => side === 'server')
    .map(({ side, name }) =>
      judged({ release: release.version, side, scenario: name, revision: target.revision }, found.get(name)),
    )
}

async function clientRows({ release, scenarios, target }: Run): Promise<Row[]> {
  const made: Row[] = []
  for (const { side, name } of scenarios.filter((one) => one.side === 'client')) {
    const once = async () => {
      const found = await checkClient(release, { ...target, scenario: name })
      return judged({ release: release.version, side, scenario: name, revision: target.revision }, found.get(name))
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

export const isWrong = ({ result }: Row): boolean => result === 'FAIL' || result === 'STALE'

export function tableOf(all: readonly Row[]): string {
  const headings = ['Release', 'Side', 'Scenario', 'Revision', 'Result', 'Reason']
  const cells = all.map(({ release, side, scenario, revision, result, reason }) =>
    [release, side, scenario, revision, result, reason].map((cell) => cell.replaceAll('|', '\\|')),
  )
  return [headings, headings.map(() => '---'), ...cells].map((line) => `| ${line.join(' | ')} |`).join('\n')
}
