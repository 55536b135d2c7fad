import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { verifyBundle } from '../../src/evidence/verify/verify.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import { sweep } from '../support/sweep.ts'
import type { ToRun } from './kill-child.ts'
import {
  aboutOf,
  calmRun,
  effectsOf,
  inWorld,
  longAgoMs,
  makeWorld,
  numbers,
  said,
  spread,
  stores,
} from './kill-world.ts'

/** How a request ended: its decision, and whether it is unknown what its last step did. */
async function endOf(ambit: Ambit, runId: string) {
  const record = await ambit.decisions.show(runId)
  const { versions } = await ambit.decisions.history(runId)
  assert.deepEqual(
    versions.map(({ previous_hash }) => previous_hash),
    [null, ...versions.slice(0, -1).map(({ record_hash }) => record_hash)],
  )
  assert.equal(verifyBundle(await ambit.evidence.export(runId)).valid, true)
  assert.deepEqual((await ambit.replay.run(runId)).diffs, [])
  const { status, ambit: own, budget_usage } = record
  return { status, cause: own.cause, outcome: own.decision?.outcome ?? null, calls: budget_usage.tool_calls }
}

describe.each(stores)('on %s [R-113]', (name, _, target, sample) => {
  test('a decision is the same wherever its process was killed, with each effect once [R-109 R-113]', async () => {
    const world = await makeWorld(await target())
    const points = await calmRun(world, true)
    const dying = spread(numbers(points.length), sweep(sample, points.length))
    const beganMs = longAgoMs()
    for (const point of dying) {
      const told: ToRun = { about: aboutOf(world, point), nowMs: beganMs + point, dieAt: point, invokes: true }
      assert.equal((await said(world, 'run', told)).signal, 'SIGKILL', `point ${point}`)
    }
    const abouts = [0, ...dying].map((point) => aboutOf(world, point))
    const [ids = []] = (await said(world, 'decide', abouts)).lines
    await inWorld(world, async (ambit) => {
      const calm = await endOf(ambit, ids[0] ?? '')
      assert.deepEqual(calm, { status: 'DECIDED', cause: null, outcome: 'done', calls: 3 })
      let unknown = 0
      for (const [index, about] of abouts.entries()) {
        const end = await endOf(ambit, ids[index] ?? '')
        const { post, fire = 0, look = 0 } = await effectsOf(about)
        assert.deepEqual([post, look >= 1], [1, true], about)
        if (end.cause === 'outcome_unknown') {
          unknown++
          assert(fire <= 1, about)
          assert.equal(end.status, 'DEFERRED')
        } else assert.deepEqual([end, fire], [calm, 1], about)
      }
      process.stdout.write(`${name}: killed at ${dying.length} of ${points.length} points, ${unknown} unknown\n`)
    })
  })
})
