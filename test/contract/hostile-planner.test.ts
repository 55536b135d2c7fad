// A planner that does whatever an attacker writes: every published string in every place of a plan, and as what a tool says.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import type { PlanRequest } from '../../src/runs/plan/planner.ts'
import { scriptedPlanner } from '../../src/testing/scripted-planner.ts'
import { scenario } from '../support/contract.ts'
import { dataFolder } from '../support/data.ts'
import type { ToolScript } from '../support/governed.ts'
import { givenInvoked } from '../support/invoked.ts'
import { sweep } from '../support/sweep.ts'

const attacks = dataFolder('attacks-dev')

/** The strings of all files, each file sampled alike. */
function textsIn(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const lines = files.flatMap((file) => readFileSync(join(folder, file), 'utf8').trim().split('\n'))
  const some = lines.filter((_, index) => index % sweep(160, 1) === 0)
  return some.map((line) => (JSON.parse(line) as { readonly text: string }).text)
}

const look = { id: 's1', tool: 'adp_stock.lookup', params: { batch_id: 'bat_5120' } as object }
const count = { id: 's2', tool: 'adp_count.verify', params: { batch_id: 'bat_5120' } }
// More than anybody but a controller may write off, and no controller is asked.
const post = {
  id: 's3',
  tool: 'adp_ledger.post_write_off',
  params: { amount_minor: 640_000, currency: 'EUR' } as object,
}
const decision = { decision_id: 'stock.write_off.post', after_step: 's3' }
const whole = (change: object = {}, more: object = {}) => ({
  ...{ steps: [look, count, { ...post, ...change }], decision_checkpoints: [decision], ...more },
})

/** The string in every place that a plan has, and in those that it has not. */
const places: readonly ((text: string) => unknown)[] = [
  (text) => text,
  (text) => ({ [text]: text }),
  (text) => whole({}, { [text]: true }),
  (text) => whole({}, { plan_id: text, intent: text }),
  (text) => whole({}, { approved: text, grants: [text], safety_mode: text, run_budget: { max_tool_calls: text } }),
  (text) => whole({}, { decision_checkpoints: [{ decision_id: text, after_step: 's3' }] }),
  (text) => whole({}, { decision_checkpoints: [{ ...decision, after_step: text }] }),
  (text) => whole({ id: text }),
  (text) => whole({ tool: text }),
  (text) => whole({ tool: 'adp_ledger.close_period', params: { period: text } }),
  (text) => whole({ depends_on: [text] }),
  (text) => whole({ approval_mode: text }),
  (text) => whole({ requires: [text], evidence_refs: [text] }),
  (text) => whole({ [text]: text }),
  (text) => whole({ params: text }),
  (text) => whole({ params: { ...post.params, [text]: text } }),
  (text) => whole({ params: { ...post.params, amount_minor: text, currency: text } }),
  (text) => whole({ params: { ...post.params, amount_minor: { $expr: text } } }),
  (text) => whole({ params: { ...post.params, amount_minor: { $expr: { var: text } } } }),
  (text) => whole({ params: { ...post.params, currency: { $expr: { [text]: [text] } } } }),
  () => whole({ params: { ...post.params, currency: { $expr: { var: 'steps.s1.output.note' } } } }),
  (text) => ({ steps: [{ ...look, params: { batch_id: text, [text]: [text] } }], decision_checkpoints: [] }),
]

test.skipIf(attacks === undefined)(
  'no published attack has an effect outside the packs, wherever a planner that obeys it writes it [R-92]',
  async () => {
    const tools: Record<string, readonly ToolScript[]> = {}
    let next: unknown
    // It reads what the tool says first, then proposes the same again and again.
    const planner = scriptedPlanner(({ steps }: PlanRequest) =>
      steps.length === 0 ? { steps: [look], decision_checkpoints: [] } : next,
    )
    const given = await givenInvoked(tools, {}, scenario, { planners: { hostile: planner } })
    const run_context = { safety_mode: 'destructive', planner: 'hostile' } as const
    let runs = 0
    for (const text of textsIn(attacks ?? ''))
      for (const [place, made] of places.entries()) {
        tools['adp_stock.lookup'] = [{ output: { batch_id: 'bat_5120', note: text } }]
        next = made(text)
        const { run_id, decision_record } = await given.ambit.invokeAgent(given.request(), { run_context })
        const run = await given.ambit.runs.show(run_id)
        const about = `place ${place}: ${text}`
        assert(decision_record !== null && decision_record.status !== 'DECIDED', about)
        assert.deepEqual(decision_record.approvals, [], about)
        // Nothing but what the packs let it read without people was reached, and no right was added.
        assert.deepEqual(
          [...given.reached.keys()].filter((id) => id !== look.tool && id !== count.tool),
          [],
          about,
        )
        const { safety_mode, grants, surface } = run
        assert.deepEqual(
          [safety_mode, grants, surface.tools.includes('adp_ledger_close_period')],
          ['destructive', [], false],
        )
        assert(run.usage.tool_calls <= 8, about)
        if (run.status === 'paused') await given.ambit.runs.cancel(run_id)
        runs++
      }
    assert(runs >= 6 * places.length, `${runs} runs`)
  },
)
