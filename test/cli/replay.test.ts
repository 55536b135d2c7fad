import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import type { ReplayReport } from '../../src/model/contract/replay.ts'
import type { RunEvent } from '../../src/model/run.ts'
import { scenario } from '../support/contract.ts'
import { givenInvoked } from '../support/invoked.ts'
import { change } from '../support/recorded.ts'
import { givenShell } from './harness.ts'

/** A store in the folder of a shell, with a run that posted 1,800.00 by itself. */
async function givenRun() {
  const shell = givenShell()
  const given = await givenInvoked({}, { folder: join(shell.cwd, '.ambit') })
  const { run_id } = await given.ambit.invokeAgent(given.request({}, { amount_minor: 180_000 }), {
    run_context: { safety_mode: 'delegated' },
  })
  const run = (...words: string[]) => shell.run('replay', '--tenant', 'tenant_fjordvik', ...words)
  return { shell, given, run_id, run }
}

test('replay says that a run is equal, or in which step it first differs [R-99]', async () => {
  const { given, run_id, run } = await givenRun()
  const equal = await run(run_id)
  assert.deepEqual([equal.code, equal.out], [0, `equal  ${run_id} comes to the same again\n`], equal.err)
  assert.equal((await run(run_id, '--json')).json<ReplayReport>().status, 'replay_equal')
  await change(given, 'run_events', (event: RunEvent) =>
    event.type === 'critic.score' ? { ...event, data: { ...event.data, ok: false } } : undefined,
  )
  const differs = await run(run_id)
  assert.equal(differs.code, 1)
  assert.match(differs.out, /^differs {2}run_\w+, first in score/)
  assert.match(differs.out, /tamper +score +\/ok +false +true/)
})

test('replay with another pack is a table of the decisions that it would change [R-114]', async () => {
  const { shell, run_id, run } = await givenRun()
  const same = await run('--pack', 'ctxpack.stock@3.1.0', '--since', '2026-06-01T00:00:00Z')
  assert.deepEqual([same.code, same.out], [0, '1 decision: 1 unchanged, 0 would change, 0 cannot be told\n'], same.err)
  writeFileSync(join(shell.cwd, 'next.yaml'), scenario('pack.yaml').replaceAll('500000', '100000'))
  const changed = await run('--file', 'next.yaml')
  assert.equal(changed.code, 1, changed.err)
  assert.match(changed.out, /^1 decision: 0 unchanged, 1 would change, 0 cannot be told\n/)
  assert.match(
    changed.out,
    new RegExp(`${run_id} +\\S+ +approvals +\\[\\] +\\["GATE_CONTROLLER"\\] +call +GATE_CONTROLLER, POL`),
  )
  assert.match((await run()).err, /name a run, or a pack with `--pack` or `--file`/)
})
