import assert from 'node:assert/strict'
import { test } from 'vitest'
import { decisionRecord } from '../../src/model/contract/decision.ts'
import { runCases } from '../support/governed.ts'
import { givenInvoked } from '../support/invoked.ts'
import { ended } from '../support/runs.ts'

// Of C-03b the tool is not there, which no script of a tool can say.
const cases = runCases().filter(
  ({ id, planner, plan_stop, outcome, approval, limits }) =>
    id !== 'C-03b' &&
    [planner, plan_stop, outcome, limits].every((each) => each === undefined) &&
    approval !== 'expire',
)

test.each(cases.map((each) => [each.id, each.says, each] as const))('%s, run: %s [R-04 R-05]', async (_, __, one) => {
  const given = await givenInvoked(one.tools)
  const boss = await given.approver('cora', ['controller'])
  const answer = await given.ambit.invokeAgent(given.request({}, one.context), {
    run_context: { safety_mode: one.safety_mode ?? 'delegated' },
  })
  if (one.approval !== undefined)
    for (const id of answer.waits_for) await boss.approvals.decide(id, one.approval === 'approve' ? 'approve' : 'deny')
  const run =
    one.approval === undefined ? await given.ambit.runs.show(answer.run_id) : await ended(given, answer.run_id)
  const record = await given.ambit.decisions.show(answer.run_id)
  assert.deepEqual(decisionRecord.parse(record), record)
  const { expect } = one
  assert.deepEqual([record.status, run.status], [expect.record, expect.run], JSON.stringify(record.ambit.verdicts))
  assert.equal(record.ambit.decision?.outcome, expect.outcome)
  assert.deepEqual(Object.fromEntries(given.reached), expect.calls)
  if (expect.approvals !== undefined) assert.equal(record.approvals.length, expect.approvals)
})
