import assert from 'node:assert/strict'
import { test } from 'vitest'
import { verifyRunExport } from '../../src/evidence/verify/run-export.ts'
import { decisionRecord } from '../../src/model/contract/decision.ts'
import { mayMove } from '../../src/runs/record/record.ts'
import { stockPack } from '../support/contract.ts'
import { runCases } from '../support/governed.ts'
import { type GivenInvoked, givenInvoked } from '../support/invoked.ts'
import { ended } from '../support/runs.ts'

const cases = runCases().filter(
  ({ id, planner, plan_stop, outcome, approval, limits }) =>
    id !== 'C-03b' &&
    [planner, plan_stop, outcome, limits].every((each) => each === undefined) &&
    approval !== 'expire',
)

/** The run of one example, to its end, with what is on record of it. */
async function recorded(given: GivenInvoked, one: (typeof cases)[number]) {
  const { ambit } = given
  const boss = await given.approver('cora', ['controller'])
  const request = given.request({}, one.context)
  const run_context = { safety_mode: one.safety_mode ?? 'delegated' } as const
  const { runtime_controls } = await ambit.compile(request, { run_context })
  const answer = await ambit.invokeAgent(request, { run_context })
  if (one.approval !== undefined)
    for (const id of answer.waits_for) await boss.approvals.decide(id, one.approval === 'approve' ? 'approve' : 'deny')
  const run = one.approval === undefined ? await ambit.runs.show(answer.run_id) : await ended(given, answer.run_id)
  return {
    run,
    runtime_controls,
    exported: await ambit.runs.export(run.run_id),
    events: await given.events(run.run_id),
  }
}

test.each(cases.map((each) => [each.id, each.says, each] as const))(
  'what is on record of %s holds: %s [R-07 R-46 R-47 R-48 R-49]',
  async (_, __, one) => {
    const given = await givenInvoked(one.tools)
    const { run, runtime_controls, exported, events } = await recorded(given, one)
    const report = verifyRunExport(exported)
    assert.deepEqual([report.first, report.run_id], [null, run.run_id])
    const { records, approvals } = exported
    const [first] = records
    for (const [index, record] of records.entries()) {
      assert.deepEqual(decisionRecord.parse(record), record)
      assert(mayMove(records[index - 1]?.status, record.status) || record.status === 'IN_FLIGHT')
      assert.deepEqual([record.lineage, record.trace_id], [first?.lineage, run.trace_id])
      for (const [name, ids] of Object.entries(runtime_controls))
        assert.deepEqual(
          ids.filter((id) => !record.controls_active[name as keyof typeof runtime_controls].includes(id)),
          [],
        )
    }
    const last = records.at(-1)
    assert(last !== undefined && last.lineage.pack_version === '3.1.0' && last.lineage.snapshot_version !== '')
    const { tool_calls, cost_cents } = run.usage
    assert.deepEqual([last.budget_usage.tool_calls, last.budget_usage.cost_usd_cents], [tool_calls, cost_cents])
    const decided = new Set(events.map(({ data }) => data['policy_decision_id']))
    assert(last.policy_decisions.every(({ policy_decision_id }) => decided.has(policy_decision_id)))
    const gates = stockPack().policy_layer.approval_gates.map(({ gate_id }) => gate_id)
    for (const { gate_id, approver, decided_at, evidence_snapshot_hash } of last.approvals) {
      assert(gates.includes(gate_id), gate_id)
      assert(last.controls_active.approval_gates_active.includes(gate_id))
      assert(
        approvals.some(({ votes }) =>
          votes.some((vote) => vote.approver === approver && vote.decided_at === decided_at),
        ),
      )
      assert(events.some(({ data }) => data['evidence_snapshot'] === evidence_snapshot_hash))
    }
  },
)

test('a run export is refused for whatever is changed in it, left out or moved, and says where [R-122]', async () => {
  const given = await givenInvoked()
  const one = cases.find(({ approval }) => approval === 'approve') ?? assert.fail()
  const { exported } = await recorded(given, one)
  const { records, approvals } = exported
  assert.deepEqual([records.length, approvals.length], [3, 1])
  const faultOf = (change: (copy: typeof exported) => unknown) => {
    const copy = structuredClone(exported)
    change(copy)
    const { valid, first } = verifyRunExport(copy)
    assert.equal(valid, false)
    return `${first?.check} ${first?.at}`
  }
  for (const [index, record] of records.entries())
    for (const [pointer, change] of changesIn(record)) {
      const found = faultOf((copy) => change(copy.records[index] as object))
      assert.match(found, /^(shape|run|hashes) \/records\/\d/, `${index}${pointer}`)
    }
  assert.equal(
    faultOf(({ records }) => records.pop()),
    'evidence /records',
  )
  assert.equal(
    faultOf(({ records }) => records.shift()),
    'chain /records/0/previous_hash',
  )
  assert.equal(
    faultOf(({ records }) => records.splice(1, 1)),
    'chain /records/1/previous_hash',
  )
  assert.equal(
    faultOf(({ records }) => records.reverse()),
    'chain /records/0/previous_hash',
  )
  assert.equal(
    faultOf(({ records }) => records.push(structuredClone(records[2] as never))),
    'chain /records/3/previous_hash',
  )
  assert.equal(
    faultOf(({ approvals }) => approvals.pop()),
    'approvals /approvals',
  )
  for (const change of [{ redeemed_at: null }, { votes: [] }, { invocation_digest: `sha256:${'0'.repeat(64)}` }])
    assert.equal(
      faultOf(({ approvals }) => Object.assign(approvals[0] as object, change)),
      'approvals /approvals/0',
    )
  assert.equal(
    faultOf(({ approvals }) => Object.assign(approvals[0]?.votes[0] as object, { approver: 'eve' })),
    'approvals /approvals/0',
  )
  assert.match(
    faultOf(({ bundles }) => bundles[0]?.events.pop()),
    /^bundles \/bundles\/0\//,
  )
  assert.match(
    faultOf(({ bundles }) => Object.assign(bundles[0]?.events[1]?.payload as object, { seq: 7 })),
    /^bundles /,
  )
  assert.match(
    faultOf((copy) => Object.assign(copy, { more: 1 })),
    /^shape \/more/,
  )
  const { exported: others } = await recorded(await givenInvoked(), one)
  assert.match(
    faultOf((copy) =>
      Object.assign(copy, {
        records: others.records.map((each) => ({
          ...each,
          record_id: 'dr_0',
          ambit: { ...each.ambit, run_id: 'run_0000000000000000' },
        })),
      }),
    ),
    /^run \/records\/0/,
  )
  assert.equal(verifyRunExport({ bundles: exported.bundles, records: 1 }).valid, false)
})

/** Every leaf of a value, changed into another one of its kind. */
function* changesIn(
  value: unknown,
  pointer: readonly string[] = [],
): Generator<readonly [string, (of: object) => void]> {
  if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) yield* changesIn(inner, [...pointer, name])
  else
    yield [
      pointer.join('/'),
      (of) => {
        const holder = pointer.slice(0, -1).reduce<unknown>((at, name) => Reflect.get(at as object, name), of)
        Reflect.set(holder as object, pointer.at(-1) ?? '', other(value))
      },
    ]
}

const other = (value: unknown): unknown =>
  typeof value === 'number' ? value + 1 : typeof value === 'boolean' ? !value : `${String(value)}x`
