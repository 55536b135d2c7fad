import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { RunEvent } from '../../src/model/run.ts'
import { rows } from '../../src/storage/work.ts'
import { withStore } from '../storage/target.ts'
import { sweep } from '../support/sweep.ts'
import type { ToRun } from './kill-child.ts'
import type { KillWorld } from './kill-config.ts'
import {
  aboutOf,
  calmRun,
  compare,
  type End,
  endOf,
  inWorld,
  isSameEnd,
  longAgoMs,
  makeWorld,
  numbers,
  said,
  spread,
  startTask,
  stores,
} from './kill-world.ts'

const tables = ['runs', 'run_events', 'legs', 'sessions', 'session_messages', 'entries', 'entry_history']

/** All that is on record of runs and of what they have written. */
const onRecord = (world: KillWorld): Promise<string> =>
  withStore(world.store, async (store) => {
    const found = tables.map((name) => store.read(() => rows(`SELECT * FROM ${name} ORDER BY 1, 2, 3, 4`)))
    return JSON.stringify(await Promise.all(found))
  })

const runIdIn = async (world: KillWorld, about: string): Promise<string> =>
  inWorld(world, async (ambit) => {
    const { runs } = await ambit.runs.list({ agent: 'desk' })
    return runs.find(({ input }) => JSON.stringify(input).includes(about))?.run_id ?? assert.fail(about)
  })

/** Each process that took a run up has said so. */
async function timesTakenUp(world: KillWorld, rootId: string): Promise<number> {
  const events: RunEvent[] = []
  await inWorld(world, async (ambit) => {
    for await (const event of ambit.runs.events(rootId)) events.push(event)
  })
  return events.filter(({ type }) => type === 'run.resumed').length
}

describe.each(stores)('on %s [F-14 R-113]', (_, __, target) => {
  test('of several processes that look after one store exactly one takes up a run that was left [F-14 R-113]', async () => {
    const world = await makeWorld(await target())
    const points = await calmRun(world)
    const dieAt = points.length >> 1
    const about = aboutOf(world, dieAt)
    const told: ToRun = { about, nowMs: longAgoMs(), dieAt }
    assert.equal((await said(world, 'run', told)).signal, 'SIGKILL')
    const others = numbers(2).map(() => startTask(world, 'recover'))
    await Promise.all(others.map((other) => other.ready))
    for (const other of others) other.tell(JSON.stringify([about]))
    for (const { code } of await Promise.all(others.map((other) => other.ended))) assert.equal(code, 0)
    const ids = new Set(others.map((other) => (JSON.parse(other.said[0] ?? '[]') as string[])[0]))
    const [id = '', ...more] = ids
    assert.deepEqual([more, await timesTakenUp(world, id)], [[], 1])
    await inWorld(world, async (ambit) => {
      const calm = await endOf(ambit, world, await runIdIn(world, aboutOf(world, 0)), aboutOf(world, 0))
      await compare(calm, await endOf(ambit, world, id, about), about)
    })
  })

  test('a process that stood still beyond its lease writes nothing more of its run [F-14 R-113]', async () => {
    const world = await makeWorld(await target())
    const points = await calmRun(world)
    // One that stands still in a transaction keeps the store to itself.
    const still = numbers(points.length).filter((point) => !points[point - 1]?.startsWith('in '))
    const end = points.indexOf('before ambit.run.finished of agent.poster') + 1
    for (const dieAt of [end, ...spread(still.slice(1, -1), sweep(0, 12))]) {
      const about = aboutOf(world, dieAt)
      const late = startTask(world, 'run')
      onTestFinished(late.kill)
      await late.ready
      const told: ToRun = { about, nowMs: longAgoMs() + dieAt, dieAt, stops: true }
      const stopped = late.next()
      late.tell(JSON.stringify(told))
      const [point = ''] = JSON.parse(await stopped) as string[]
      const [ids = []] = (await said(world, 'recover', [about])).lines
      const before = await onRecord(world)
      late.signal('SIGCONT')
      assert.deepEqual(await late.ended, { code: 0, signal: null })
      assert.equal(await onRecord(world), before, point)
      const ends = await inWorld(world, async (ambit) => [
        await endOf(ambit, world, await runIdIn(world, aboutOf(world, 0)), aboutOf(world, 0)),
        await endOf(ambit, world, ids[0] ?? '', about),
      ])
      // What it had begun outside it does late: that is its own, and no record of the run.
      isSameEnd(ends[0] as End, ends[1] as End, about)
    }
  })
})

test('a run that its process has left goes on when it is resumed, and one that has ended cannot be [R-113]', async () => {
  const target = stores[0]?.[2] ?? assert.fail('no store')
  const world = await makeWorld(await target())
  const points = await calmRun(world)
  const dieAt = points.length >> 2
  const about = aboutOf(world, dieAt)
  const told: ToRun = { about, nowMs: longAgoMs(), dieAt }
  await said(world, 'run', told)
  await inWorld(world, async (ambit) => {
    const { runs } = await ambit.runs.list({ agent: 'desk', status: 'running' })
    const id = runs[0]?.run_id ?? ''
    await ambit.runs.resume(id)
    for await (const _ of ambit.runs.events(id));
    assert.equal((await ambit.runs.show(id)).status, 'completed')
    await assert.rejects(ambit.runs.resume(id), { code: 'run.finished' })
  })
})
