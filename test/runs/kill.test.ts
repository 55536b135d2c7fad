import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import { verifyBundle } from '../../src/evidence/verify/verify.ts'
import { createAmbit } from '../../src/library/create-ambit.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import type { RunEvent } from '../../src/model/run.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import { createTenant } from '../../src/runtime/identity/tenants.ts'
import { openWith } from '../../src/runtime/runtime.ts'
import { settingsFrom } from '../../src/runtime/settings/config.ts'
import { sessionWindow } from '../../src/storage/tables/sessions.ts'
import { rows } from '../../src/storage/work.ts'
import { startHost } from '../cli/host-process.ts'
import { startEffects } from '../gateway/world.ts'
import { startChild } from '../storage/spawn.ts'
import { emptySchema, type Target, withStore } from '../storage/target.ts'
import { startPostgres } from '../support/postgres.ts'
import { sweep } from '../support/sweep.ts'
import type { ToRun } from './kill-child.ts'
import { type KillWorld, killConfig, requestOf } from './kill-config.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-run-kill-'))
const server = await startPostgres({ fsync: false })
const effects = await startEffects()
afterAll(async () => {
  effects.stop()
  await server?.stop()
  rmSync(folder, { recursive: true })
})

const home = tenantId('local')
let worlds = 0

/** A folder with a configuration and a store with a tenant in it, whom nothing has happened to yet. */
async function makeWorld(store: Target): Promise<KillWorld> {
  const name = `world-${worlds++}`
  const own = join(folder, name)
  mkdirSync(own)
  const world = { name, folder: own, store, effects: effects.url }
  const module = join(import.meta.dirname, 'kill-config.ts')
  const config = `import { killConfig } from ${JSON.stringify(module)}\nexport default killConfig(${JSON.stringify(world)})\n`
  writeFileSync(join(own, 'ambit.config.ts'), config)
  const runtime = await openWith(settingsFrom(killConfig(world), { folder: own, env: {} }))
  await createTenant(runtime, { id: home, roots: ['acme'] })
  await runtime.close()
  const secret = await inWorld(world, async (ambit) => {
    await ambit.principals.create('gran', { kind: 'service', roles: ['grantor', 'auditor'] })
    return (await ambit.keys.create('gran')).secret
  })
  return { ...world, secret }
}

async function inWorld<T>(world: Omit<KillWorld, 'secret'>, act: (ambit: Ambit) => Promise<T>): Promise<T> {
  const ambit = await createAmbit({ folder: join(world.folder, '.ambit'), ...killConfig(world) })
  return act(ambit).finally(() => ambit.close())
}

/** What one process said that did its task to its end, or to that point. */
async function said(world: KillWorld, task: 'run' | 'recover', told: unknown) {
  const child = startChild([process.execPath, join(import.meta.dirname, 'kill-child.ts'), JSON.stringify(world), task])
  await child.ready
  child.tell(JSON.stringify(told))
  const { signal } = await child.ended
  return { signal, lines: child.said.map((line) => JSON.parse(line) as string[]) }
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

/** As many of them as asked for, spread over all. */
const spread = (all: readonly number[], count: number): number[] =>
  all.filter((_, index) => Math.floor((index * count) / all.length) !== Math.floor(((index - 1) * count) / all.length))

/** Ends a process at each of these points of its run, two at a time. A minute later to all who come then. */
async function killAt(world: KillWorld, points: readonly number[]): Promise<void> {
  const beganMs = Date.now() - 60_000
  const waiting = [...points]
  const lane = async (): Promise<void> => {
    for (let point = waiting.shift(); point !== undefined; point = waiting.shift()) {
      const told: ToRun = { about: aboutOf(world, point), nowMs: beganMs + point, dieAt: point }
      assert.equal((await said(world, 'run', told)).signal, 'SIGKILL', `point ${point}`)
    }
  }
  await Promise.all([lane(), lane()])
}

/** What the run is about that is killed there; at none, it is calm. */
const aboutOf = ({ name }: KillWorld, point: number): string => `${name}-at-${point}-`

/** How a run ended, wherever it was killed: all that is to be the same. */
interface End {
  readonly runs: readonly unknown[]
  readonly answers: readonly string[]
  readonly memory: readonly string[]
  readonly chat: readonly string[]
}

async function endOf(ambit: Ambit, world: KillWorld, rootId: string, about: string) {
  const { runs } = await ambit.runs.list({ root: rootId })
  const events: RunEvent[] = []
  for await (const event of ambit.runs.events(rootId)) events.push(event)
  assert.deepEqual(
    events.map(({ event_id }) => event_id),
    numbers(events.length),
  )
  const report = verifyBundle(await ambit.evidence.export(rootId))
  assert.deepEqual([report.valid, report.first], [true, null])
  const { entries } = await ambit.memory.list(`acme/${about}`)
  const place = { agentId: 'desk', sessionId: `chat-${about}` }
  const { messages } = await withStore(world.store, (store) => store.read(() => sessionWindow(home, place, 10)))
  const answers = events.flatMap(({ type, data }) => {
    const { tool, status, output, error } = data as { tool: string; status: string; output: never; error: never }
    return type === 'tool.finished'
      ? [JSON.stringify([tool, status, output?.['action'] ?? output, error?.['code']])]
      : []
  })
  const end: End = {
    runs: runs
      .map(({ agent_id, depth, status, result, error, usage }) => [agent_id, depth, status, result, error, usage])
      .sort(),
    answers: answers.sort(),
    memory: entries.map(({ content }) => content).sort(),
    chat: messages.map(({ content }) => content),
  }
  return JSON.parse(
    JSON.stringify(end)
      .replaceAll(about, '#')
      .replaceAll(/run_[0-9a-f]{16}/g, 'run_#'),
  ) as End
}

/** How often each thing was done outside for a run. */
async function effectsOf(about: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = { post: 0, fire: 0, look: 0 }
  for (const [key, count] of Object.entries(await effects.all())) {
    const [name = '', what] = key.split('/')
    if (what === about) counts[name] = (counts[name] ?? 0) + count
  }
  return counts
}

const unknown = '["world_fire","error",null,"outcome_unknown"]'

/** Holds a run that was killed against the one that was not. */
async function compare(calm: End, end: End, about: string): Promise<boolean> {
  const { post, fire = 0, look = 0 } = await effectsOf(about)
  const isUnknown = end.answers.includes(unknown)
  const known = calm.answers.find((answer) => answer.startsWith('["world_fire"')) ?? ''
  const answers = end.answers.map((answer) => (answer === unknown ? known : answer)).sort()
  assert.deepEqual({ ...end, answers }, calm, about)
  assert.equal(post, 1, `${about}: what can be asked about is done once`)
  assert(isUnknown ? fire <= 1 : fire === 1, `${about}: fired ${fire} times`)
  assert(look >= 1, about)
  return isUnknown
}

const onSqlite = async (): Promise<Target> => ({ driver: 'sqlite', path: join(folder, `${worlds}.db`) })
const onPostgres = async (): Promise<Target> => ({ driver: 'postgres', url: await emptySchema(server) })
const stores = [
  ['SQLite', true, onSqlite, 5],
  ['PostgreSQL', server !== undefined, onPostgres, 3],
] as const

/** The end of a run that nobody disturbs, and how many points it comes by. */
async function calmRun(world: KillWorld) {
  const told: ToRun = { about: aboutOf(world, 0), nowMs: Date.now() - 60_000, dieAt: null }
  const { lines } = await said(world, 'run', told)
  return { points: lines[0] ?? [], told }
}

describe.each(stores.filter(([, isHere]) => isHere))('on %s [F-14 R-113]', (name, _, target, sample) => {
  test('a run ends the same wherever its process was killed, with each effect once [F-14 R-109 R-113]', async () => {
    const world = await makeWorld(await target())
    const { points } = await calmRun(world)
    const dying = spread(numbers(points.length), sweep(sample, points.length))
    await killAt(world, dying)
    const abouts = [0, ...dying].map((point) => aboutOf(world, point))
    const [ids = []] = (await said(world, 'recover', abouts)).lines
    await inWorld(world, async (ambit) => {
      const ends = await Promise.all(abouts.map((about, index) => endOf(ambit, world, ids[index] ?? '', about)))
      const [calm] = ends
      assert(calm !== undefined && calm.runs.length === 5)
      const unknown = []
      for (const [index, about] of abouts.entries())
        if (await compare(calm, ends[index] as End, about)) unknown.push(about)
      const counts = `killed at ${dying.length} of ${points.length} points, ${unknown.length} times with an unknown effect`
      process.stdout.write(`${name}: ${counts}\n`)
      const open = rows("SELECT run_id FROM legs UNION ALL SELECT claim_key FROM claims WHERE state = 'running'")
      assert.deepEqual(await withStore(world.store, (store) => store.read(() => open)), [])
    })
  })
})

test('a host takes up the runs that a killed process left, and answers who asks for them again [F-14 R-113]', async () => {
  const world = await makeWorld(await onSqlite())
  const { points } = await calmRun(world)
  const dying = spread(numbers(points.length), sweep(1, 8))
  await killAt(world, dying)
  const host = await startHost({ cwd: world.folder } as never, '--port', '0')
  const gran = connect(host.url, world.secret)
  const ended = async (about: string) => {
    const { input, options } = requestOf(about)
    return (await (await gran.run('desk', input, options)).result()).run_id
  }
  const abouts = [0, ...dying].map((point) => aboutOf(world, point))
  const ids = await Promise.all(abouts.map(ended))
  host.process.kill('SIGTERM')
  assert.equal(await host.ended, 0)
  await inWorld(world, async (ambit) => {
    const [calm, ...ends] = await Promise.all(
      abouts.map((about, index) => endOf(ambit, world, ids[index] ?? '', about)),
    )
    for (const [index, end] of ends.entries()) await compare(calm as End, end, abouts[index + 1] ?? '')
  })
})
