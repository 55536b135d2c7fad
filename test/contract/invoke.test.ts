import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { decisionRecord, memoryProposal } from '../../src/model/contract/decision.ts'
import { scriptedPlanner } from '../../src/testing/scripted-planner.ts'
import { scenario } from '../support/contract.ts'
import { type RunCase, runCases } from '../support/governed.ts'
import { givenInvoked } from '../support/invoked.ts'
import { ended } from '../support/runs.ts'

// Of C-03b the tool is not there, which no script of a tool can say; a planner that is silent has a test of its own.
const cases = runCases().filter(
  ({ id, approval, plan_stop }) => id !== 'C-03b' && approval !== 'expire' && plan_stop === undefined,
)

/** The last plan of a case is proposed again and again. */
function plannerOf({ planner = [] }: RunCase) {
  const plans = planner.map((plan) => ({ decision_checkpoints: [], ...plan }))
  let asked = 0
  return scriptedPlanner(() => plans[asked++] ?? plans.at(-1))
}

test.each(cases.map((each) => [each.id, each.says, each] as const))('%s, run: %s [R-04 R-05]', async (_, __, one) => {
  const { limits, outcome, expect } = one
  const packs = (name: string): string =>
    outcome === undefined ? scenario(name) : scenario(name).replace(/ outcome: \{.*/, ` outcome: ${outcome}`)
  const given = await givenInvoked(one.tools, {}, packs, { planners: { script: plannerOf(one) } })
  const boss = await given.approver('cora', ['controller'])
  const answer = await given.ambit.invokeAgent(given.request({}, one.context), {
    run_context: {
      safety_mode: one.safety_mode ?? 'delegated',
      ...(one.planner && { planner: 'script' }),
      ...(limits && { run_budget: { max_tool_calls: limits.calls, max_replan_attempts: limits.replans } }),
    },
  })
  if (one.approval !== undefined)
    for (const id of answer.waits_for) await boss.approvals.decide(id, one.approval === 'approve' ? 'approve' : 'deny')
  const run =
    one.approval === undefined ? await given.ambit.runs.show(answer.run_id) : await ended(given, answer.run_id)
  const record = await given.ambit.decisions.show(answer.run_id)
  assert.deepEqual(decisionRecord.parse(record), record)
  const { verdicts } = record.ambit
  assert.deepEqual([record.status, run.status], [expect.record, expect.run], JSON.stringify(verdicts))
  assert.equal(record.ambit.decision?.outcome, expect.outcome)
  assert.deepEqual(Object.fromEntries(given.reached), expect.calls)
  if (expect.approvals !== undefined) assert.equal(record.approvals.length, expect.approvals)
  if (one.planner === undefined) return
  const { cause, limit, used } = expect
  const last = verdicts.at(-1)
  const amounts = last !== undefined && 'limit' in last ? [last.limit, last.used] : [undefined, undefined]
  assert.deepEqual([record.ambit.cause, ...amounts], [cause, limit, used])
  assert.equal(record.rationale.strategy, 'scripted')
})

test('a decision proposes what it says of its subjects, as its pack lets it, and writes nothing [R-95]', async () => {
  const given = await givenInvoked()
  const { memory_proposals, decision_record } = await given.ambit.invokeAgent(
    given.request({}, { amount_minor: 180_000 }),
    { run_context: { safety_mode: 'delegated', context: ['fjordvik'] } },
  )
  assert(memory_proposals.length > 0)
  for (const proposal of memory_proposals) assert.deepEqual(memoryProposal.parse(proposal), proposal)
  assert.deepEqual(
    decision_record?.ambit.memory_proposal_ids,
    memory_proposals.map(({ proposal_id }) => proposal_id),
  )
  assert.deepEqual((await given.ambit.memory.list('fjordvik')).entries, [])
})

test('every version of a record is kept, linked to the one before, and in evidence by its hash [R-48 R-87]', async () => {
  const given = await givenInvoked()
  const boss = await given.approver('cora', ['controller'])
  const { run_id, waits_for } = await given.ambit.invokeAgent(given.request(), {
    run_context: { safety_mode: 'delegated' },
  })
  await boss.approvals.decide(waits_for[0] ?? '', 'approve')
  await ended(given, run_id)
  const { versions } = await given.ambit.decisions.history(run_id)
  assert.deepEqual(
    versions.map(({ status, ambit }) => [ambit.seq, status]),
    [
      [0, 'IN_FLIGHT'],
      [1, 'IN_FLIGHT'],
      [2, 'DECIDED'],
    ],
  )
  assert.deepEqual(
    versions.map(({ previous_hash }) => previous_hash),
    [null, ...versions.slice(0, -1).map(({ record_hash }) => record_hash)],
  )
  const written = (await given.evidence(run_id)).filter(({ event_type }) => event_type === 'ambit.record.written')
  assert.deepEqual(
    written.map(({ payload }) => (payload as { record_hash?: string }).record_hash),
    versions.map(({ record_hash }) => record_hash),
  )
  const [approval] = versions.at(-1)?.approvals ?? []
  assert.deepEqual([approval?.gate_id, approval?.approver], ['GATE_CONTROLLER', 'cora'])
})

test('a repeated request is its first run, and another body under its id is refused [R-11]', async () => {
  const given = await givenInvoked()
  const request = given.request({}, { amount_minor: 180_000 })
  const options = { run_context: { safety_mode: 'delegated' as const } }
  const first = await given.ambit.invokeAgent(request, options)
  assert.equal((await given.ambit.invokeAgent(request, options)).run_id, first.run_id)
  assert.equal(given.reached.get('adp_ledger.post_write_off'), 1)
  const other = { ...request, input: { ...request.input, message: 'another' } }
  await assert.rejects(given.ambit.invokeAgent(other, options), { code: 'request.id_conflict' })
})

test('a run that waits goes on in another process, from the facts and packs that it began with [R-113]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-invoke-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const first = await givenInvoked({}, { folder })
  const { run_id, waits_for } = await first.ambit.invokeAgent(first.request(), {
    run_context: { safety_mode: 'delegated' },
  })
  await first.close()
  const second = await givenInvoked({}, { folder })
  const boss = await second.approver('cora', ['controller'])
  await boss.approvals.decide(waits_for[0] ?? '', 'approve')
  assert.equal((await ended(second, run_id)).status, 'completed')
  assert.equal((await second.ambit.decisions.show(run_id)).status, 'DECIDED')
  assert.deepEqual((await second.ambit.replay.run(run_id)).diffs, [])
  assert.deepEqual(Object.fromEntries(second.reached), { 'adp_ledger.post_write_off': 1 })
})

test('a run whose facts were erased while it waited ends, and its record says why [R-07]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-erased-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const first = await givenInvoked({}, { folder })
  const { run_id, waits_for } = await first.ambit.invokeAgent(first.request(), {
    run_context: { safety_mode: 'delegated', context: ['fjordvik/stock'] },
  })
  await first.ambit.memory.erase('fjordvik', { recursive: true })
  await first.close()
  const second = await givenInvoked({}, { folder })
  const person = await second.approver('cora', ['controller'])
  await person.approvals.decide(waits_for[0] ?? '', 'approve')
  assert.equal((await ended(second, run_id)).error?.code, 'replay_snapshot_collected')
  const record = await second.ambit.decisions.show(run_id)
  assert.deepEqual([record.status, record.ambit.cause], ['ESCALATED', 'replay_snapshot_collected'])
  assert.equal(second.reached.size, 0)
})
