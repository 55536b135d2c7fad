import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import { statusOf } from '../../src/base/failure-codes.ts'
import { sha256 } from '../../src/base/hash.ts'
import { recordHash } from '../../src/evidence/record-hash.ts'
import type { DecisionRecord } from '../../src/model/contract/decision.ts'
import type { ReplayReport } from '../../src/model/contract/replay.ts'
import type { RunEvent } from '../../src/model/run.ts'
import { operable } from '../../src/operations/table.ts'
import { replayRun } from '../../src/runs/replay/replay.ts'
import type { StoredRun } from '../../src/runs/replay/stored.ts'
import { performOperation } from '../../src/runtime/operations/perform.ts'
import { rows } from '../../src/storage/work.ts'
import { runCases } from '../support/governed.ts'
import { type GivenInvoked, givenInvoked } from '../support/invoked.ts'
import { change, rewritten, storedRun, withoutHost } from '../support/recorded.ts'
import { ended } from '../support/runs.ts'

const cases = runCases().filter(
  ({ id, planner, plan_stop, outcome, approval, limits }) =>
    id !== 'C-03b' &&
    [planner, plan_stop, outcome, limits].every((each) => each === undefined) &&
    approval !== 'expire',
)

/** A run of a case, to its end or to where it waits. */
async function recorded(one: (typeof cases)[number] | undefined, context: Readonly<Record<string, Json>> = {}) {
  const given = await givenInvoked(one?.tools)
  const boss = await given.approver('cora', ['controller'])
  const answer = await given.ambit.invokeAgent(given.request({}, { ...one?.context, ...context }), {
    run_context: { safety_mode: one?.safety_mode ?? 'delegated', context: ['fjordvik/stock'] },
  })
  if (one?.approval !== undefined) {
    for (const id of answer.waits_for) await boss.approvals.decide(id, one.approval === 'approve' ? 'approve' : 'deny')
    await ended(given, answer.run_id)
  }
  return { given, id: answer.run_id }
}

const signed = () => recorded(cases.find(({ id }) => id === 'C-01'))

test.each(cases.map((each) => [each.id, each.says, each] as const))(
  'C-29 of %s: it comes to the same again where no host can be opened: %s [R-98]',
  async (_, __, one) => {
    const { given, id } = await recorded(one)
    const calls = [...given.reached]
    const context = withoutHost(given)
    const { replay } = operable((path, operation, input) => performOperation(context, path, operation, input))
    assert.deepEqual(await replay.run(id), {
      ...{ run_id: id, record_id: id.replace('run', 'dr'), status: 'replay_equal', diffs: [] },
    })
    const { decisions } = await replay.compare({ pack: 'ctxpack.stock@3.1.0' })
    assert.deepEqual(
      decisions.map(({ verdict }) => verdict),
      ['unchanged'],
    )
    assert.deepEqual([...given.reached], calls)
  },
)

test('C-29: once the facts of a run were erased, nothing is decided again [R-97]', async () => {
  const { given, id } = await signed()
  await given.ambit.memory.erase('fjordvik/stock')
  await expect(given.ambit.replay.run(id)).rejects.toMatchObject({ code: 'replay.snapshot_collected' })
  assert.equal(statusOf['replay.snapshot_collected'], 410)
  assert.deepEqual((await given.ambit.replay.compare({ pack: 'ctxpack.stock@3.1.0' })).decisions[0]?.missing, ['facts'])
})

test('a run of which there is no record is not there, nor is that of another caller [R-13]', async () => {
  const { given, id } = await signed()
  for (const [by, named] of [
    [given.ambit, 'run_0000000000000001'],
    [await given.as('eve'), id],
  ] as const)
    await expect(by.replay.run(named)).rejects.toMatchObject({ code: 'record.not_found' })
})

type Edit = (given: GivenInvoked) => Promise<void>
const event =
  (type: RunEvent['type'], edit: (data: Record<string, never>) => object, step?: string): Edit =>
  (given) =>
    change(given, 'run_events', (found: RunEvent) =>
      found.type === type && (step === undefined || found.data['step'] === step)
        ? { ...found, data: { ...found.data, ...edit(found.data as never) } }
        : undefined,
    )
const packs =
  (statement: string): Edit =>
  async ({ runtime }) =>
    void (await runtime.database.write(() => rows(statement)))

test.each<[string, string, Edit, object]>([
  [
    ...(['pack', 'replay.pack_unavailable'] as const),
    packs("UPDATE packs SET body = REPLACE(body, '500000', '900000')"),
    { ref: 'ctxpack.stock@3.1.0', reason: 'pack_signature_invalid' },
  ],
  [
    ...(['pack that is gone', 'replay.pack_unavailable'] as const),
    packs("DELETE FROM packs WHERE ref LIKE 'decision%'"),
    { ref: 'decision-catalog.stock@1.4.0', reason: 'pack_not_found' },
  ],
  [
    ...(['context', 'replay.envelope_mismatch'] as const),
    (given) =>
      change(given, 'runs', (run: { private: { invoked: { context: { user: object } } } }) => {
        run.private.invoked.context.user = { user_id: 'usr_214', role: 'stock_lead' }
        return run
      }),
    {},
  ],
  [
    ...(['result', 'replay.transcript_broken'] as const),
    event('tool.finished', () => ({ output: { verified: true, by: 'two' } }), 's2'),
    { step: 's2' },
  ],
  [
    ...(['approver', 'replay.transcript_broken'] as const),
    event('tool.finished', () => ({ approver: 'eve' }), 's3'),
    { step: 's3' },
  ],
  [
    ...(['arguments', 'replay.transcript_broken'] as const),
    event('tool.started', () => ({ args: { batch_id: 'bat_1' } }), 's1'),
    { step: 's1' },
  ],
  [
    ...(['plan', 'replay.transcript_broken'] as const),
    event('plan.proposed', (data: { plan?: object }) => ({ plan: { ...data.plan, decision_checkpoints: [] } })),
    { step: 'plan 0' },
  ],
])('a changed %s refuses a replay with %s [R-97]', async (_, code, edit, data) => {
  const { given, id } = await signed()
  await edit(given)
  await expect(given.ambit.replay.run(id)).rejects.toMatchObject({ code, data })
})

const tampered = (report: ReplayReport) => report.diffs.map(({ kind, stage, pointer }) => [kind, stage, pointer])[0]

test.each<[string, Edit, readonly string[]]>([
  [
    'facts',
    (given) => change(given, 'run_events', (facts: StoredRun['facts']) => ({ ...facts, estimator: 'x' }), 'facts'),
    ['tamper', 'facts', ''],
  ],
  [
    'record',
    (given) => change(given, 'decision_records', (record: DecisionRecord) => ({ ...record, confidence: 0.1 })),
    ['tamper', 'record', '/record_hash'],
  ],
  [
    'record with a hash that fits',
    (given) =>
      change(given, 'decision_records', (record: DecisionRecord) => {
        const made = { ...record, confidence: 0.1 }
        return record.status === 'DECIDED' ? { ...made, record_hash: recordHash(made) } : undefined
      }),
    ['tamper', 'record', '/in_evidence'],
  ],
  ['verdict', event('critic.verify', () => ({ reasons: ['because'] })), ['tamper', 'verify', '/reasons/0']],
  ['score', event('critic.score', () => ({ reasons: ['declined'] })), ['tamper', 'score', '/reasons/0']],
  ['compile', event('compile.done', () => ({ content_hash: 'sha256:1' })), ['tamper', 'manifests', '/content_hash']],
  ['end', event('run.finished', () => ({ result: { batch_id: 'bat_1' } })), ['scorecard', 'end', '/result/batch_id']],
])('what was changed of its %s is named [R-99]', async (_, edit, first) => {
  const { given, id } = await signed()
  await edit(given)
  const report = await given.ambit.replay.run(id)
  assert.equal(report.status, 'replay_mismatch')
  assert.deepEqual(tampered(report), first)
})

const events = (stored: StoredRun, type: RunEvent['type'], data: object, step?: string): StoredRun['events'] =>
  stored.events.map((each) =>
    each.type === type && (step === undefined || each.data['step'] === step)
      ? { ...each, data: { ...each.data, ...data } }
      : each,
  )

const facts = (stored: StoredRun, more: Partial<StoredRun['facts']>): Partial<StoredRun> => {
  const made = { ...stored.facts, ...more }
  return { facts: made, factsHash: sha256(JSON.stringify(made)) }
}

test.each<[string, (stored: StoredRun) => Partial<StoredRun>, readonly (string | undefined)[]]>([
  [
    'the message',
    (it) => facts(it, { request: { ...it.facts.request, message: 'x' } }),
    ['compiled_context', 'buckets', undefined],
  ],
  [
    'an evidence fact',
    (it) => facts(it, { evidence: it.facts.evidence.slice(1) }),
    ['evidence', 'evidence', undefined],
  ],
  [
    'what rules say',
    (it) => ({ events: events(it, 'tool.finished', { rule_ids: [] }, 's3') }),
    ['policy', 'result', 's3'],
  ],
  [
    'a mode',
    (it) => ({ events: events(it, 'tool.started', { effective: 'network' }, 's3') }),
    ['policy', 'call', 's3'],
  ],
  [
    'arguments',
    (it) => ({ events: events(it, 'tool.started', { args: {} }, 's2') }),
    ['tool_transcript', 'call', 's2'],
  ],
  [
    'a result',
    (it) => ({ events: events(it, 'tool.finished', { output: { verified: false } }, 's2') }),
    ['policy', 'result', 's3'],
  ],
  [
    'an end',
    (it) => ({ events: it.events.filter(({ type }) => type !== 'critic.score') }),
    ['scorecard', 'end', undefined],
  ],
])('of a record in which %s was another, the first difference is named [R-99]', async (_, edit, first) => {
  const { given, id } = await signed()
  const stored = await storedRun(given, id)
  assert.equal(replayRun(rewritten(stored, {})).status, 'replay_equal')
  const [found] = replayRun(rewritten(stored, edit(stored))).diffs
  assert.deepEqual([found?.kind, found?.stage, found?.step], first, JSON.stringify(found))
})

test('a run that a fault has ended comes to the same up to there [R-99]', async () => {
  const { given, id } = await signed()
  const stored = await storedRun(given, id)
  const [first] = stored.versions
  if (first === undefined) throw new Error('a run without a record')
  const last = { ...first, status: 'ESCALATED' as const, ambit: { ...first.ambit, seq: 1, cause: 'runtime_failure' } }
  const began = stored.events.findIndex(({ type }) => type === 'tool.finished')
  const error = { code: 'runtime_failure', message: 'x' }
  const ends = stored.events.slice(-1).map((each) => ({ ...each, data: { status: 'failed', result: null, error } }))
  const events = [...stored.events.slice(0, began), ...ends]
  assert.equal(replayRun(rewritten(stored, { events, versions: [first, last] })).status, 'replay_equal')
})

test('a pack that is past its time to live still says what it said [R-97]', async () => {
  const { given, id } = await signed()
  given.clock.advance(400 * 86_400_000)
  assert.equal((await given.ambit.replay.run(id)).status, 'replay_equal')
})
