// What is counted of each kind of hostility, and how it is shown.

import type { Agent } from './hostile-agent.ts'
import type { Row } from './hostile-rows.ts'
import type { Decision, HostProcess, World } from './hostile-world.ts'

export interface Measured {
  readonly kind: string
  readonly agents: readonly Agent[]
  /** Effects that no policy allows. */
  readonly outside: number
  readonly crashes: number
  /** The memory of the host at its highest. */
  readonly peakMiB: number
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

const effects = ({ depot }: World): number =>
  depot.seen.filter(({ url }) => ['/send', '/delete', '/export'].includes(url)).length

export async function measure(
  host: HostProcess,
  world: World,
  { kind, allowed = 0 }: Row,
  agents: readonly Agent[],
  work: () => Promise<void>,
): Promise<Measured> {
  const before = effects(world)
  let peakMiB = 0
  const sampling = setInterval(() => {
    if (host.ended() === null) peakMiB = Math.max(peakMiB, host.rssMiB())
  }, 25)
  try {
    await work()
  } finally {
    clearInterval(sampling)
  }
  return {
    kind,
    agents,
    outside: effects(world) - before - allowed * agents.length,
    crashes: host.ended() === null ? 0 : 1,
    peakMiB,
  }
}

/** Somebody who is asked about every call that waits, and says the same to all of them. */
export function approver(url: string, key: string) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  let decision: Decision = 'deny'
  const decideAll = async () => {
    const answer = await fetch(`${url}/v1/approvals?state=pending`, { headers })
    const { approvals } = (await answer.json()) as { approvals: readonly { approval_id: string }[] }
    const body = JSON.stringify({ decision })
    for (const { approval_id: id } of approvals)
      await fetch(`${url}/v1/approvals/${id}/decision`, { method: 'POST', headers, body })
  }
  let isThere = true
  const working = (async () => {
    while (isThere) {
      await decideAll()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  return {
    decides: (next: Decision) => {
      decision = next
    },
    leave: () => {
      isThere = false
      return working
    },
  }
}

/** A row of the table: what was measured, and what was found in the evidence later. */
export interface Shown extends Measured {
  /** How much more memory the host used than before all of it. */
  readonly growthMiB: number
  /** Calls that are no repetition of an earlier one, nor under its id. */
  readonly calls: number
  readonly inEvidence: number
}

const columns: Readonly<Record<string, (row: Shown) => string | number>> = {
  hostility: ({ kind }) => kind,
  tries: ({ agents }) => sum(agents.map(({ count }) => count.calls + count.approvals)),
  'effects outside policy': ({ outside }) => outside,
  crashes: ({ crashes }) => crashes,
  'MiB more': ({ growthMiB }) => growthMiB,
  'own yeses': ({ agents }) => sum(agents.map(({ count }) => count.approvals)),
  'under used ids': ({ agents }) => sum(agents.map(({ count }) => count.again)),
  'calls made': ({ calls }) => calls,
  'in evidence': ({ inEvidence }) => inEvidence,
}

export function printed(rows: readonly Shown[]): string {
  const names = Object.keys(columns)
  const cells = [names, ...rows.map((row) => Object.values(columns).map((cell) => String(cell(row))))]
  const widths = names.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')
  return cells.map(line).join('\n')
}
