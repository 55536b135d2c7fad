import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import { afterAll, describe, test } from 'vitest'
import { type Child, startChild } from '../storage/spawn.ts'
import { emptySchema, type Target } from '../storage/target.ts'
import { startPostgres } from '../support/postgres.ts'
import { sweep } from '../support/sweep.ts'
import { makeWorld, startEffects, type World } from './world.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-gateway-'))
const server = await startPostgres({ fsync: false })
const effects = await startEffects()
let worlds = 0
afterAll(async () => {
  effects.stop()
  await server?.stop()
  rmSync(folder, { recursive: true })
})

const child = (world: World, task: string, name: string | number = ''): Child =>
  startChild([process.execPath, join(import.meta.dirname, 'child.ts'), JSON.stringify(world), task, String(name)])

const worldOn = async (target: (file: string) => Promise<Target>): Promise<World> => {
  const own = join(folder, `world-${worlds++}`)
  return makeWorld(own, await target(join(folder, `${worlds}.db`)), effects.url)
}
const sqlite = async (path: string): Promise<Target> => ({ driver: 'sqlite', path })
const postgres = async (): Promise<Target> => ({ driver: 'postgres', url: await emptySchema(server) })

describe('on one SQLite file [H-45 H-62]', () => inProcesses('SQLite', sqlite, sweep(40, 100)))
describe.skipIf(server === undefined)('on one PostgreSQL database [H-45 H-62]', () =>
  inProcesses('PostgreSQL', postgres, sweep(40, 100)),
)

interface Said {
  readonly id: string
  readonly outcome: string
  readonly data: { readonly receipt: string }
  readonly replayed: boolean
}

function inProcesses(driver: string, target: (file: string) => Promise<Target>, count: number): void {
  test('four processes that make the same calls at once have each effect once, and all get its result [H-39 H-60 H-61 H-62]', async () => {
    const world = await worldOn(target)
    const ids = Array.from({ length: count }, (_, index) => `${driver}-${index}`)
    const before = await effects.all()
    const said = await raced(world, ids, 'planner')
    const own = await raced(world, ids, 'rival')
    const after = await effects.all()
    const effectsOf = (name: string) => ids.map((id) => (after[`${name}/${id}`] ?? 0) - (before[`${name}/${id}`] ?? 0))
    show(
      ['driver', 'caller', 'ids', 'calls', 'effects', 'replayed'],
      [
        [driver, 'planner', count, said.length, sum(effectsOf('planner')), said.filter((call) => call.replayed).length],
        [driver, 'rival', count, own.length, sum(effectsOf('rival')), own.filter((call) => call.replayed).length],
      ],
    )
    for (const calls of [said, own]) {
      assert.equal(calls.length, 4 * count)
      assert.deepEqual(new Set(calls.map(({ outcome }) => outcome)), new Set(['success']))
      assert.equal(calls.filter(({ replayed }) => !replayed).length, count)
    }
    for (const name of ['planner', 'rival']) assert.deepEqual(new Set(effectsOf(name)), new Set([1]))
    const receipts = (calls: readonly Said[]) => new Map(calls.map(({ id, data }) => [id, data.receipt]))
    for (const { id, data } of said) assert.equal(data.receipt, receipts(said).get(id))
    for (const { id, data } of own) assert.notEqual(data.receipt, receipts(said).get(id))
  })

  test('a process killed at any point leaves a record that tells the truth, and no call is silently repeated [H-45 H-46 H-60]', async () => {
    const world = await worldOn(target)
    const idOf = (point: string): string => `${driver} ${point}`
    const dying = Object.entries(points).filter((_, index) => index % sweep(2, 1) === 0)
    for (const [point] of dying) {
      const killed = child(world, 'die', point)
      await killed.ready
      killed.tell(idOf(point))
      assert.equal((await killed.ended).signal, 'SIGKILL', point)
    }
    const before = await effects.all()
    const next = child(world, 'recover', 1)
    await next.ready
    next.tell(JSON.stringify(dying.map(([point]) => idOf(point))))
    assert.equal((await next.ended).code, 0)
    const after = await effects.all()
    const rows = dying.map(([point, expected], index) => {
      const found = JSON.parse(next.said[index] ?? '{}') as Recovered
      const [left = 0, total = 0] = [before, after].map((all) => all[`planner/${idOf(point)}`])
      assert.deepEqual([left, found.recorded, found.again], [expected.effect, expected.recorded, expected.again], point)
      assert.equal(found.again, found.known === 'nothing' ? 'success' : `${found.known}, replayed`, point)
      assert.equal(total, expected.again === 'success' ? expected.effect + 1 : expected.effect, point)
      assert.equal(found.events.at(-1), expected.end.replace('<id>', idOf(point)), point)
      return [
        driver,
        point,
        left,
        found.recorded,
        found.again,
        total,
        found.events.at(-1)?.replace(/because.*/, 'appended'),
      ]
    })
    show(['driver', 'killed', 'effects', 'recorded', 'a repeat answers', 'effects then', 'last event'], rows)
  })

  test('a call of which nobody knows is asked about by whoever comes next, though those who asked were killed [H-45 H-46]', async () => {
    const world = await worldOn(target)
    const id = `${driver} asked`
    const killed = child(world, 'die', 'in the handler, after the effect')
    await killed.ready
    killed.tell(id)
    assert.equal((await killed.ended).signal, 'SIGKILL')
    const asking = child(world, 'ask')
    asking.ready.catch(() => undefined)
    assert.equal((await asking.ended).signal, 'SIGKILL')
    // Its turn is over; the next comes later.
    const recovers = async (minutes: number) => {
      const next = child(world, 'recover', minutes)
      await next.ready
      next.tell(JSON.stringify([id]))
      assert.equal((await next.ended).code, 0)
      return JSON.parse(next.said[0] ?? '{}') as Recovered
    }
    assert.equal((await recovers(1)).again, 'indeterminate, replayed')
    const found = await recovers(2)
    assert.deepEqual([found.known, found.again, found.receipt], ['success', 'success, replayed', 'found'])
    assert.deepEqual(found.events, [
      'execution_started',
      'execution_indeterminate',
      `execution_completed done because of ${id}`,
    ])
    assert.equal((await effects.all())[`planner/${id}`], 1)
  })
}

interface Recovered {
  readonly recorded: string
  readonly known: string
  readonly receipt?: string
  readonly again: string
  readonly events: readonly string[]
}

const untouched = { effect: 0, recorded: 'nothing', again: 'success', end: 'execution_completed' }
const recorded = 'execution_indeterminate'
const undone = { recorded, again: 'failure, replayed', effect: 0, end: 'execution_failed none because of <id>' }
const done = { recorded, again: 'success, replayed', effect: 1, end: 'execution_completed done because of <id>' }

/** What a process leaves behind when it ends there. */
const points: Readonly<Record<string, typeof untouched>> = {
  'before the intent is written': untouched,
  'while the intent is written': untouched,
  'after the intent is written': undone,
  'in the handler, before the effect': undone,
  'in the handler, after the effect': done,
  'before the outcome is written': done,
  'while the outcome is written': done,
  'after the outcome is written': {
    effect: 1,
    recorded: 'execution_completed',
    again: 'success, replayed',
    end: 'execution_completed',
  },
}

async function raced(world: World, ids: readonly string[], as: string): Promise<readonly Said[]> {
  const children = [0, 1, 2, 3].map((name) => child(world, 'race', name))
  await Promise.all(children.map(({ ready }) => ready))
  for (const { tell } of children) tell(JSON.stringify({ ids, as }))
  const ends = await Promise.all(children.map(({ ended }) => ended))
  assert.deepEqual(
    ends.map(({ code }) => code),
    [0, 0, 0, 0],
  )
  return children.flatMap(({ said }) => said.map((line) => JSON.parse(line) as Said))
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

function show(head: string[], rows: (string | number | undefined)[][]): void {
  const table = new Table({ head, style: { head: [], border: [] } })
  table.push(...rows.map((row) => row.map(String)))
  process.stdout.write(`${table.toString()}\n`)
}
