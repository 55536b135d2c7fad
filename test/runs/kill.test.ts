import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import { rows } from '../../src/storage/work.ts'
import { startHost } from '../cli/host-process.ts'
import { withStore } from '../storage/target.ts'
import { sweep } from '../support/sweep.ts'
import type { ToRun } from './kill-child.ts'
import { type KillWorld, requestOf } from './kill-config.ts'
import {
  aboutOf,
  calmRun,
  compare,
  type End,
  endOf,
  inWorld,
  longAgoMs,
  makeWorld,
  numbers,
  onSqlite,
  said,
  spread,
  stores,
} from './kill-world.ts'

/** Ends a process at each of these points of its run, two at a time. */
async function killAt(world: KillWorld, points: readonly number[]): Promise<void> {
  const beganMs = longAgoMs()
  const waiting = [...points]
  const lane = async (): Promise<void> => {
    for (let point = waiting.shift(); point !== undefined; point = waiting.shift()) {
      const told: ToRun = { about: aboutOf(world, point), nowMs: beganMs + point, dieAt: point }
      assert.equal((await said(world, 'run', told)).signal, 'SIGKILL', `point ${point}`)
    }
  }
  await Promise.all([lane(), lane()])
}

describe.each(stores)('on %s [F-14 R-113]', (name, _, target, sample) => {
  test('a run ends the same wherever its process was killed, with each effect once [F-14 R-109 R-113]', async () => {
    const world = await makeWorld(await target())
    const points = await calmRun(world)
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
  const points = await calmRun(world)
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
