// Worlds in which processes are killed while they drive runs, and how a run ends that was taken up from them.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { verifyBundle } from '../../src/evidence/verify/verify.ts'
import { createAmbit } from '../../src/library/create-ambit.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import type { RunEvent } from '../../src/model/run.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import { createTenant } from '../../src/runtime/identity/tenants.ts'
import { openWith } from '../../src/runtime/runtime.ts'
import { settingsFrom } from '../../src/runtime/settings/config.ts'
import { sessionWindow } from '../../src/storage/tables/runs/sessions.ts'
import { startEffects } from '../gateway/world.ts'
import { type Child, startChild } from '../storage/spawn.ts'
import { emptySchema, type Target, withStore } from '../storage/target.ts'
import { stockPack } from '../support/contract.ts'
import { startPostgres } from '../support/postgres.ts'
import type { ToRun } from './kill-child.ts'
import { type KillWorld, killConfig, worldPack } from './kill-config.ts'

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
export async function makeWorld(store: Target): Promise<KillWorld> {
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
    const { document } = await ambit.packs.sign(worldPack(stockPack()))
    await ambit.packs.publish(document)
    await ambit.principals.create('gran', { kind: 'service', roles: ['grantor', 'auditor'] })
    return (await ambit.keys.create('gran')).secret
  })
  return { ...world, secret }
}

export async function inWorld<T>(world: Omit<KillWorld, 'secret'>, act: (ambit: Ambit) => Promise<T>): Promise<T> {
  const ambit = await createAmbit({ folder: join(world.folder, '.ambit'), ...killConfig(world) })
  return act(ambit).finally(() => ambit.close())
}

export const startTask = (world: KillWorld, task: 'run' | 'recover' | 'decide'): Child =>
  startChild([process.execPath, join(import.meta.dirname, 'kill-child.ts'), JSON.stringify(world), task])

/** What one process said that did its task to its end, or to the point where it was to end. */
export async function said(world: KillWorld, task: 'run' | 'recover' | 'decide', told: unknown) {
  const child = startTask(world, task)
  await child.ready
  child.tell(JSON.stringify(told))
  const { signal } = await child.ended
  return { signal, lines: child.said.map((line) => JSON.parse(line) as string[]) }
}

/** The time of processes that are to be gone: by now the leases of that time have lapsed. */
export const longAgoMs = (): number => Date.now() - 60_000

export const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

/** As many of them as asked for, spread over all. */
export const spread = (all: readonly number[], count: number): number[] =>
  all.filter((_, index) => Math.floor((index * count) / all.length) !== Math.floor(((index - 1) * count) / all.length))

/** What the run is about that is killed there; at none, it is calm. */
export const aboutOf = ({ name }: KillWorld, point: number): string => `${name}-at-${point}-`

/** How a run ended, wherever it was killed: all that is to be the same. */
export interface End {
  readonly runs: readonly unknown[]
  readonly answers: readonly string[]
  readonly memory: readonly string[]
  readonly chat: readonly string[]
}

export async function endOf(ambit: Ambit, world: KillWorld, rootId: string, about: string) {
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
export async function effectsOf(about: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = { post: 0, fire: 0, look: 0 }
  for (const [key, count] of Object.entries(await effects.all())) {
    const [name = '', what] = key.split('/')
    if (what === about) counts[name] = (counts[name] ?? 0) + count
  }
  return counts
}

const unknown = '["world_fire","error",null,"outcome_unknown"]'

/** Holds how a run ended against the calm one; true where it is reported as unknown whether one effect happened. */
export function isSameEnd(calm: End, end: End, about: string): boolean {
  const known = calm.answers.find((answer) => answer.startsWith('["world_fire"')) ?? ''
  const answers = end.answers.map((answer) => (answer === unknown ? known : answer)).sort()
  assert.deepEqual({ ...end, answers }, calm, about)
  return end.answers.includes(unknown)
}

/** The same, and each effect once, unless that is unknown. */
export async function compare(calm: End, end: End, about: string): Promise<boolean> {
  const isUnknown = isSameEnd(calm, end, about)
  const { post, fire = 0, look = 0 } = await effectsOf(about)
  assert.equal(post, 1, `${about}: what can be asked about is done once`)
  assert(isUnknown ? fire <= 1 : fire === 1, `${about}: fired ${fire} times`)
  assert(look >= 1, about)
  return isUnknown
}

export const onSqlite = async (): Promise<Target> => ({ driver: 'sqlite', path: join(folder, `${worlds}.db`) })
const onPostgres = async (): Promise<Target> => ({ driver: 'postgres', url: await emptySchema(server) })
const all = [
  ['SQLite', true, onSqlite, 5],
  ['PostgreSQL', server !== undefined, onPostgres, 3],
] as const
/** Each with how to make an empty one, and how many points a sample has there. */
export const stores = all.filter(([, isHere]) => isHere)

/** The points that a run comes by that is left alone. */
export async function calmRun(world: KillWorld, invokes = false) {
  const told: ToRun = { about: aboutOf(world, 0), nowMs: longAgoMs(), dieAt: null, invokes }
  const { lines } = await said(world, 'run', told)
  return lines[0] ?? []
}
