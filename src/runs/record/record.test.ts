import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { drive, loopFacts, runCases } from '../../../test/support/governed.ts'
import { canonical } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { recordHash } from '../../evidence/record-hash.ts'
import { type DecisionRecord, decisionRecord, type RecordStatus, recordStatus } from '../../model/contract/decision.ts'
import type { Ending } from '../plan/ending.ts'
import { readProgress } from '../plan/progress.ts'
import { candidatesFrom } from './proposals.ts'
import { makeRecord, mayMove, sealRecord, type VersionFacts } from './record.ts'

const version: VersionFacts = {
  ...{ record_id: 'dr_1', timestamp: '2026-11-02T09:00:00.000Z', seq: 1, approvals: [], memory_proposal_ids: [] },
  budget_usage: { tokens: 120, tool_calls: 3, cost_usd_cents: 0.25, wall_clock_ms: 40 },
  release: { runtime: '0.1.0', model: null, policy_hash: `sha256:${'1'.repeat(64)}` },
}

const recordsOf = (given: Parameters<typeof drive>[0]): readonly DecisionRecord[] => {
  const facts = loopFacts(given)
  const { ending, progress } = drive(given, { facts })
  const first = sealRecord(makeRecord({ ...progress, plans: [], verdicts: [] }, facts, 'IN_FLIGHT', version), undefined)
  const end: Ending | 'IN_FLIGHT' = ending === 'paused' ? 'IN_FLIGHT' : ending
  return [first, sealRecord(makeRecord(progress, facts, end, { ...version, seq: 2 }), first)]
}

test.each(runCases().map((each) => [each.id, each] as const))(
  'the record of %s has every member, and is chained [R-50]',
  (_, given) => {
    const [first, last] = recordsOf(given)
    for (const record of [first, last]) assert.deepEqual(decisionRecord.parse(record), record)
    assert.deepEqual([last?.status, last?.ambit.cause ?? undefined], [given.expect.record, given.expect.cause])
    assert.deepEqual([first?.previous_hash, last?.previous_hash], [null, first?.record_hash])
    assert.equal(last?.ambit.decision?.outcome, given.expect.outcome)
    const { agent } = loopFacts().context
    assert.deepEqual(last?.agent_identity, {
      ...{ subject: agent.identity_claim.sub, claim_hash: agent.identity_claim.claim_hash },
      principal_chain: agent.principal_chain,
    })
  },
)

test('a decided record says what it rests on, and outputs are empty until then [R-50]', () => {
  const [first, last] = recordsOf({ context: { amount_minor: 180_000 } })
  assert.deepEqual(first?.outputs, {})
  assert.deepEqual(last?.outputs, { batch_id: 'bat_5120' })
  assert.deepEqual(last?.subject_ids, ['batch:bat_5120'])
  assert.deepEqual(last?.evidence_refs, [
    'tool:adp_stock.lookup:tool_01a1f46e00000001t0c0',
    'tool:adp_count.verify:tool_01a1f46e00000001t0c1',
    'policy:POLICY_STOCK_V3#R_COUNT_VERIFIED',
  ])
  assert.equal(last?.rationale.strategy, 'playbook:tt_write_off@1.0.0')
  assert.deepEqual([first?.confidence, last?.confidence], [0, 0.9])
  assert.equal(last?.policy_decisions.length, 3)
  assert(last !== undefined)
  assert.deepEqual(
    candidatesFrom(last).map(({ class: kind, entity_ceid, value }) => [kind, entity_ceid, value]),
    [
      ['decision_outcome', 'batch:bat_5120', 'posted'],
      ['evidence_link', 'batch:bat_5120', 'tool:adp_stock.lookup:tool_01a1f46e00000001t0c0'],
      ['evidence_link', 'batch:bat_5120', 'tool:adp_count.verify:tool_01a1f46e00000001t0c1'],
    ],
  )
  assert(first !== undefined)
  assert.deepEqual(candidatesFrom(first), [])
})

test('a control that fires at compile, at verify or at the gateway is active in the record [R-50]', () => {
  const [, compiled] = recordsOf({ context: { site_blocked: true } })
  assert.deepEqual(compiled?.controls_active.must_refuse, ['G_BLOCKED_SITE'])
  const facts = loopFacts({})
  const { progress } = drive(
    { context: { legal_hold: true } },
    { facts: { ...facts, request: { ...facts.request, context: { legal_hold: true } } } },
  )
  const record = makeRecord(progress, facts, 'IN_FLIGHT', version)
  assert.deepEqual(record.controls_active.must_escalate, ['G_LEGAL_HOLD'])
  const call = { call_id: 'tool_1', step: 's1', tool: 'adp_stock.lookup', args: {} }
  const error = { code: 'refused_by_control', message: 'no', rule_id: 'pack/G_BLOCKED_SITE' }
  const answered = readProgress([
    { type: 'plan.proposed', data: { plan: null } },
    { type: 'tool.started', data: call },
    { type: 'tool.finished', data: { ...call, status: 'blocked', output: null, error } },
  ])
  const refused = makeRecord(answered, facts, 'IN_FLIGHT', version)
  assert.deepEqual(refused.controls_active.must_refuse, ['G_BLOCKED_SITE'])
})

// The table of the contract, line by line.
const moves: Readonly<Record<RecordStatus, readonly RecordStatus[]>> = {
  IN_FLIGHT: ['DECIDED', 'DEFERRED', 'REJECTED', 'ESCALATED'],
  DECIDED: ['CLOSED'],
  REJECTED: ['CLOSED'],
  DEFERRED: ['IN_FLIGHT', 'DECIDED', 'REJECTED', 'ESCALATED'],
  ESCALATED: ['IN_FLIGHT', 'DECIDED', 'REJECTED', 'CLOSED'],
  CLOSED: [],
}

test('a record moves as the table says and no other way, and begins in flight [R-50]', () => {
  const [sealed] = recordsOf({})
  assert(sealed !== undefined)
  const { record_hash, previous_hash, ...plain } = sealed
  for (const from of recordStatus.options)
    for (const to of recordStatus.options) {
      assert.equal(mayMove(from, to), moves[from].includes(to), `${from} ${to}`)
      const move = (): DecisionRecord => sealRecord({ ...plain, status: to }, { ...sealed, status: from })
      if (mayMove(from, to) || (from === 'IN_FLIGHT' && to === from)) assert.equal(move().previous_hash, record_hash)
      else assert.throws(move, { code: 'record.move_invalid' })
    }
  for (const to of recordStatus.options) assert.equal(mayMove(undefined, to), to === 'IN_FLIGHT')
})

test('the hash covers every member but itself and the signature, with money in whole micro-cents [R-50]', () => {
  const [sealed] = recordsOf({})
  assert(sealed !== undefined)
  const { record_hash, ...rest } = sealed
  const whole = { ...rest, budget_usage: { ...rest.budget_usage, cost_usd_cents: 250_000 } }
  assert.equal(record_hash, `sha256:${sha256(canonical(whole))}`)
  assert.equal(recordHash({ ...sealed, signature: 'x' }), record_hash)
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(rest)), (member) => {
      assert.notEqual(recordHash({ ...sealed, [member]: 'changed' }), record_hash)
    }),
  )
  for (const cents of [0.0000001, 1e12])
    assert.throws(() => recordHash({ cost_cents: cents }), { code: 'number.unsafe' })
})
