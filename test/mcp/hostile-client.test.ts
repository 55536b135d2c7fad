import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { readFences } from '../../src/fence/read.ts'
import type { EvidenceEvent } from '../../src/model/evidence.ts'
import { until } from '../support/mcp.ts'
import { revisions } from '../support/mcp-client.ts'
import { projectRoot } from '../support/source.ts'
import { type Agent, type Memory, openAgent } from './hostile-agent.ts'
import { assertVerifies, callsIn, eventsIn } from './hostile-evidence.ts'
import { faces } from './hostile-faces.ts'
import { rowsOf } from './hostile-rows.ts'
import { type Faces, givenHostile, pouring } from './hostile-server.ts'
import { approver, type Measured, measure, printed, type Shown, sum } from './hostile-table.ts'
import { canary } from './hostile-words.ts'
import {
  credentials,
  givenWorld,
  type HostProcess,
  patients,
  startHost,
  upstreamName,
  type World,
} from './hostile-world.ts'

/** How much memory a host may take for all of it: an answer has 4 MiB at most, and is copied a few times on its way. */
const growthMaxMiB = 600

const programs = [
  ...['calm', 'answers huge', 'writes endless line', 'answers deep', 'floods notifications', 'answers forged ids'],
  'turns',
]

test('hostile servers and an agent that obeys them get nothing past the policy, the fence and the record [H-57 H-61 H-80 H-90 H-98 H-100]', async () => {
  let depot = ''
  const all = faces(() => depot)
  const hostile = await givenHostile(all)
  const world = await givenWorld(hostile, { mcp: Object.keys(all.mcp), wild: Object.keys(all.http), programs })
  depot = world.depot.origin
  const host = await startHost(world.shell)
  const measured = await suffered(host, world, all)
  await until(() => pouring.size === 0)
  assert.equal(await host.stop(), 0)
  assert.doesNotMatch(host.printed(), /unhandled|\n\s+at |error:/i)

  const events = await eventsIn(world.shell)
  const table = measured.map((one) => shown(events, one, measured[0]?.peakMiB ?? 0))
  process.stdout.write(`${printed(table)}\n`)
  for (const { kind, outside, crashes, growthMiB, calls, inEvidence } of table) {
    assert.deepEqual({ kind, outside, crashes, inEvidence }, { kind, outside: 0, crashes: 0, inEvidence: calls })
    assert(growthMiB < growthMaxMiB, `${kind}: ${growthMiB} MiB`)
  }
  assertTried(events, all)
  assert.deepEqual(
    documented(),
    measured.map(({ kind }) => kind),
  )

  const agents = measured.flatMap((one) => one.agents)
  assert.equal(sum(agents.map(({ count }) => count.approved)), 0)
  assert.deepEqual(agents.flatMap(unfenced), [])
  const seen = agents.flatMap(({ received }) => received).join('\n')
  assert(seen.includes(patients.local) && !seen.includes(patients.other))
  for (const text of [seen, JSON.stringify(events), host.printed()])
    for (const secret of Object.values(credentials).flatMap(formsOf)) assert(!text.includes(secret), secret)
  for (const task of new Set(agents.flatMap(({ correlations }) => [...correlations])))
    await assertVerifies(world.shell, task)
})

/** The kinds of hostility that the documentation shows. */
function documented(): readonly (string | undefined)[] {
  const lines = readFileSync(join(projectRoot, 'docs/hostile-upstreams.md'), 'utf8').match(/^\| .* \|$/gm) ?? []
  return lines.slice(2).map((line) => line.split('|')[1]?.trim())
}

/** Every kind of hostility in turn, each against an agent of either revision. */
async function suffered(host: HostProcess, world: World, all: Faces): Promise<readonly Measured[]> {
  const people = approver(host.url, world.keys.ida)
  const memories = { '2026-07-28': blank(), '2025-11-25': blank() }
  const measured: Measured[] = []
  for (const row of rowsOf(all)) {
    const open = (revision: (typeof revisions)[number]) => {
      const task = `${row.kind.replaceAll(/\W+/g, '-')}-${revision}`
      return openAgent({ url: host.url, revision, key: world.keys[revision], task, memory: memories[revision] })
    }
    const agents = await Promise.all(revisions.map(open))
    const run = (agent: Agent) => row.run(agent, world, people.decides)
    const work = async () => {
      if (row.allowed === undefined) await Promise.all(agents.map(run))
      else for (const agent of agents) await run(agent)
    }
    measured.push(await measure(host, world, row, agents, work))
  }
  await people.leave()
  return measured
}

const blank = (): Memory => ({ tools: new Set(), ids: new Set() })

function shown(events: readonly EvidenceEvent[], one: Measured, baseMiB: number): Shown {
  return {
    ...one,
    growthMiB: Math.max(0, Math.round(one.peakMiB - baseMiB)),
    calls: sum(one.agents.map(({ count }) => count.calls - count.again)),
    inEvidence: sum(one.agents.map(({ who, correlations }) => callsIn(events, who, correlations))),
  }
}

/** A credential as it is, and as it stands in base64 wherever it begins, without what depends on its neighbours. */
const formsOf = (secret: string): readonly string[] => [
  secret,
  ...[0, 1, 2].map((at) =>
    Buffer.from(`${' '.repeat(at)}${secret}`)
      .toString('base64')
      .slice(4, -4),
  ),
]

/** The agents were told every attack, reached every hostile server, and tried all that they may not do. */
function assertTried(events: readonly EvidenceEvent[], { mcp, http }: Faces): void {
  const ended = (id: string, outcome: string) =>
    events.filter((event) => event.capability_id === id && event.outcome === outcome).length
  for (const id of ['depot.send', 'depot.delete', 'depot.export']) assert(ended(id, 'denied') >= 2, id)
  const started = new Set(
    events.filter((event) => event.event_type === 'execution_started').map((event) => event.capability_id),
  )
  const reached = [
    ...Object.keys(mcp).flatMap((face) => [`mcp.${face}.read`, `mcp.${face}.tell`]),
    ...Object.keys(http).map((face) => `wild.${face}`),
  ]
  for (const way of programs.slice(1)) reached.push(`mcp.${upstreamName(way)}.work`)
  assert.deepEqual(
    reached.filter((id) => !started.has(id)),
    [],
  )
  assert(ended('mcp.turns.work', 'skipped') > 0)
  for (const id of ['mcp.attacks.read', 'mcp.attacks.tell'])
    assert(ended(id, 'success') >= 2 * (mcp['attacks']?.length ?? 0), id)
  assert(ended('wild.attacks', 'success') >= 2 * (http['attacks']?.length ?? 0))
}

/** Texts in which something of the hostile server lies outside of the fences that we wrote. */
const unfenced = ({ texts }: Agent): readonly string[] =>
  texts.filter((text) => {
    const reading = readFences(text)
    if (!reading.ok) return true
    const outside = reading.fences.reduceRight((left, { start, end }) => left.slice(0, start) + left.slice(end), text)
    return outside.includes(canary)
  })
