import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { eventsFrom } from '../../src/storage/tables/events.ts'
import { rows } from '../../src/storage/work.ts'
import { type Child, startChild } from '../storage/spawn.ts'
import { emptySchema, type Target, withStore } from '../storage/target.ts'
import { startPostgres } from '../support/postgres.ts'
import { makeWorld, tenant, type World } from './world.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-budgets-'))
const server = await startPostgres({ fsync: false })
let worlds = 0
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

const sqlite = async (): Promise<Target> => ({ driver: 'sqlite', path: join(folder, `${worlds}.db`) })
const postgres = async (): Promise<Target> => ({ driver: 'postgres', url: await emptySchema(server) })

describe('on one SQLite file [H-99]', () => inProcesses(sqlite))
describe.skipIf(server === undefined)('on one PostgreSQL database [H-99]', () => inProcesses(postgres))

function inProcesses(targetOf: () => Promise<Target>): void {
  const given = async () => {
    const target = await targetOf()
    const world = await makeWorld(join(folder, `world-${worlds++}`), target, '')
    const used = () =>
      withStore(target, async (store) =>
        (await store.read(() => rows('SELECT calls, cost, bytes FROM budget_uses'))).map((row) => ({ ...row })),
      )
    return { target, world, used }
  }

  test('four processes spend one budget to its end and no further, and all of it is settled [H-39 H-99]', async () => {
    const { world, used } = await given()
    const said = await inFour(world, 'spend', 40)
    const paid = said.filter(({ outcome }) => outcome === 'success').length
    assert.deepEqual([said.length, paid], [160, 60])
    for (const { denial } of said)
      assert(denial === null || (denial.code === 'budget_exceeded' && denial.details['left'] === 0))
    assert.deepEqual(await used(), [{ calls: 60, cost: 60 * 500_000, bytes: 60 * '"paid"'.length }])
  })

  test('of four processes none calls outside once one of them has read what must stay inside [H-98]', async () => {
    const { world, target } = await given()
    await inFour(world, 'mix', 60)
    const events = await withStore(target, (store) => store.read(() => eventsFrom(tenant, 1, 10_000)))
    const starts = events.filter(({ eventType }) => eventType === 'execution_started').map((each) => each.capabilityId)
    assert.equal(starts.filter((id) => id === 'ward.patients').length, 1)
    assert.equal(starts.at(-1), 'ward.patients')
    const refused = events.filter(({ eventType }) => eventType === 'execution_denied').length
    assert.deepEqual([starts.length + refused, refused > 0], [240, true])
  })

  test('a process that is killed leaves what it reserved, and who finds its call settles that [H-45 H-99]', async () => {
    const { world, used } = await given()
    const whole = { calls: 1, cost: 2_000_000, bytes: 1_000 }
    const points = {
      'after the intent is written': [whole, { ...whole, cost: 0, bytes: 0 }],
      'in the handler': [whole, { ...whole, cost: 0, bytes: 0 }],
      'before the outcome is written': [whole, { ...whole, bytes: 0 }],
      'after the outcome is written': [settled, settled],
    }
    const killed = Object.keys(points).map((point) => child(world, 'die', point))
    await Promise.all(killed.map(({ ready }) => ready))
    for (const { tell } of killed) tell('')
    for (const { ended } of killed) assert.equal((await ended).signal, 'SIGKILL')
    const [left, after] = [0, 1].map((index) => Object.values(points).map((each) => each[index] ?? settled))
    assert.deepEqual(await used(), [sumOf(left)])
    for (let turn = 0; turn < 2; turn++) {
      await recover(world)
      assert.deepEqual(await used(), [sumOf(after)])
    }
  })
}

const settled = { calls: 1, cost: 500_000, bytes: '"paid"'.length }

const sumOf = (list: readonly (typeof settled)[] = []): typeof settled =>
  list.reduce((a, b) => ({ calls: a.calls + b.calls, cost: a.cost + b.cost, bytes: a.bytes + b.bytes }))

interface Said {
  readonly outcome: string
  readonly denial: { readonly code: string; readonly details: Readonly<Record<string, unknown>> } | null
}

const child = (world: World, task: string, name: string | number = ''): Child =>
  startChild([process.execPath, join(import.meta.dirname, 'budget-child.ts'), JSON.stringify(world), task, `${name}`])

async function recover(world: World): Promise<void> {
  const next = child(world, 'recover')
  await next.ready
  next.tell('')
  assert.equal((await next.ended).code, 0)
}

async function inFour(world: World, task: string, count: number): Promise<readonly Said[]> {
  const children = [0, 1, 2, 3].map((name) => child(world, task, name))
  await Promise.all(children.map(({ ready }) => ready))
  for (const { tell } of children) tell(String(count))
  const ends = await Promise.all(children.map(({ ended }) => ended))
  assert.deepEqual(new Set(ends.map(({ code }) => code)), new Set([0]))
  return children.flatMap(({ said }) => said.map((line) => JSON.parse(line) as Said))
}
