import assert from 'node:assert/strict'
import { test } from 'vitest'
import { evidenceOf, loaded, stockCatalog, stockPack } from '../../../test/support/contract.ts'
import { drive, type Event, loopFacts, type RunCase, type ToolScript } from '../../../test/support/governed.ts'
import { readyPacks } from '../../compile/compile.ts'
import type { TaskTemplate } from '../../model/contract/pack.ts'
import { idempotencyKey as keyForm } from '../../model/contract/plan.ts'
import type { LoopFacts } from './facts.ts'
import { idempotencyKey, nextMove } from './next-move.ts'
import { readProgress } from './progress.ts'

const low = { context: { amount_minor: 180_000 } }
const facts = loopFacts(low)

const withTemplate = (change: (template: TaskTemplate) => TaskTemplate): LoopFacts => ({
  ...facts,
  known: { ...facts.known, templates: facts.known.templates.map(change) },
})
const endOf = (given: Partial<RunCase>, known: LoopFacts = facts) => {
  const { ending } = drive(given, { facts: known })
  return ending === 'paused' ? ending : `${ending.record_status} ${ending.run_status} ${ending.cause ?? ending.outcome}`
}

test('a call that waits is asked for again under its place, and goes on once it was answered [R-05]', () => {
  const high = { context: { amount_minor: 640_000 } }
  const known = loopFacts(high)
  const waiting = drive(high, { facts: known })
  assert.equal(waiting.ending, 'paused')
  const first = nextMove(waiting.progress, known)
  const resumed: readonly Event[] = [...waiting.events, { type: 'run.resumed', at: known.now, data: {} }]
  assert.deepEqual(nextMove(readProgress(resumed), known), first)
  const { ending, effects } = drive({ ...high, approval: 'approve' }, { facts: known, before: resumed })
  assert(ending !== 'paused' && ending.record_status === 'DECIDED')
  assert.deepEqual(
    effects.map(({ step }) => step),
    ['s3'],
  )
})

test('a call whose answer was lost is made again with the arguments it had [R-05]', () => {
  const events: Event[] = []
  drive(low, { facts, seen: (all) => void (events.length < all.length && events.push(...all.slice(events.length))) })
  const started = events.findIndex(({ type, data }) => type === 'tool.started' && data['step'] === 's3')
  const move = nextMove(readProgress(events.slice(0, started + 1)), facts)
  assert(move.do === 'call')
  assert.deepEqual([move.step, move.attempt, move.args], ['s3', 1, events[started]?.data['args']])
})

const answers: readonly [string, ToolScript, string][] = [
  [
    'a failure that may be tried again',
    { status: 'failed', error: 'adapter_transport', retryable: true },
    'DEFERRED completed evidence_missing',
  ],
  ['an outcome nobody knows', { status: 'error', error: 'outcome_unknown' }, 'DEFERRED completed outcome_unknown'],
  ['arguments that were wrong', { status: 'rejected', error: 'args_invalid' }, 'ESCALATED completed loop_guard'],
  ['a claim that lapsed', { status: 'rejected', error: 'claim_invalid' }, 'ESCALATED completed identity_lapsed'],
  ['a policy that says no', { status: 'blocked', error: 'policy_denied' }, 'REJECTED completed declined'],
  [
    'a control that hands over',
    { status: 'blocked', error: 'escalated_by_control' },
    'ESCALATED completed escalated_by_control',
  ],
  ['a limit of the run', { status: 'blocked', error: 'budget_cost' }, 'ESCALATED failed budget_cost'],
  ['an approval that went stale', { status: 'blocked', error: 'approval_stale' }, 'ESCALATED completed approval_stale'],
  ['a safety gate', { status: 'blocked', error: 'safety_blocked' }, 'ESCALATED completed safety_blocked'],
]
test.each(answers)('a run ends by %s as its table says [R-05 R-101]', (_, answer, expected) => {
  const { ending } = drive({ ...low, tools: { 'adp_count.verify': [answer] } }, { facts })
  assert(ending !== 'paused')
  const { record_status, run_status, cause, outcome } = ending
  assert.equal(`${record_status} ${run_status} ${record_status === 'REJECTED' ? outcome : cause}`, expected)
})

test('a step is tried three times at most, and again only after a failure that may pass [R-05]', () => {
  const failing: ToolScript = { status: 'failed', error: 'adapter_transport', retryable: true }
  const run = (script: readonly ToolScript[]) => drive({ ...low, tools: { 'adp_count.verify': script } }, { facts })
  const attempts = (script: readonly ToolScript[]) =>
    run(script).effects.flatMap(({ step, attempt, callPlace }) => (step === 's2' ? [`${attempt} ${callPlace}`] : []))
  assert.deepEqual(attempts([failing]), ['1 t0c1', '2 t0c1n2', '3 t0c1n3'])
  assert.deepEqual(attempts([failing, { output: { verified: true } }]), ['1 t0c1', '2 t0c1n2'])
  assert.deepEqual(attempts([{ ...failing, retries: 1 }]), ['1 t0c1', '2 t0c1n2'])
  assert.deepEqual(attempts([{ ...failing, retryable: false }]), ['1 t0c1'])
})

test('each attempt has a verdict of its own, and an outcome nobody knows is never tried again [R-05]', () => {
  const failing: ToolScript = { status: 'failed', error: 'adapter_transport', retryable: true }
  const verdicts = (tools: NonNullable<RunCase['tools']>, known = facts) =>
    drive({ ...low, tools }, { facts: known }).progress.verdicts.map(({ verdict }) => verdict)
  const passing = [failing, { output: { verified: true } }]
  assert.deepEqual(verdicts({ 'adp_count.verify': [failing] }), ['ok', 'retry', 'retry', 'escalate'])
  assert.deepEqual(verdicts({ 'adp_stock.lookup': passing, 'adp_count.verify': passing }), [
    'ok',
    'retry',
    'retry',
    'accept',
  ])
  const unknown = { status: 'error' as const, error: 'outcome_unknown', retryable: true }
  assert.deepEqual(verdicts({ 'adp_count.verify': [unknown] }), ['ok', 'escalate'])
  const tolerant = withTemplate((each) => ({
    ...each,
    steps: each.steps.map((step) => (step.id === 's1' ? { ...step, on_error: 'continue' as const } : step)),
  }))
  const both = { 'adp_stock.lookup': [failing], 'adp_count.verify': [failing] }
  const { effects } = drive({ ...low, tools: both }, { facts: tolerant })
  assert.deepEqual(
    effects.map(({ step, attempt }) => `${step} ${attempt}`),
    ['s1 1', 's1 2', 's1 3', 's2 1', 's2 2', 's2 3'],
  )
})

test('of two answers to one call the first counts [R-05]', () => {
  const { events, progress } = drive(low, { facts })
  const again = events.flatMap((event) =>
    event.type === 'tool.finished' ? [event, { ...event, data: { ...event.data, status: 'failed' } }] : [event],
  )
  assert.deepEqual(readProgress(again), progress)
})

test('what a rule forbids by the time of the commit is not decided, though it was done [R-05]', () => {
  const pack = stockPack()
  const late = { '>': [{ var: 'now' }, '2026-11-02T09:30:00.000Z'] }
  const rules = pack.policy_layer.policy_bundles[0]?.policy_dsl.rules
  // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
  rules?.push({ rule_id: 'R_LATE', if: late, then: { allow: false } })
  const known = { ...facts, packs: readyPacks([loaded(pack), loaded(stockCatalog())]) }
  const later = { now: '2026-11-02T10:00:00.000Z' }
  const { ending, effects } = drive(low, {
    facts: known,
    seen: (events) =>
      events.some(({ type, data }) => type === 'tool.finished' && data['step'] === 's3') ? later : undefined,
  })
  assert(ending !== 'paused')
  assert.deepEqual([ending.record_status, ending.cause, effects.length], ['ESCALATED', 'policy_denied', 3])
})

test('a step that may fail does not stop the others, and one whose condition fails is not called [R-05]', () => {
  const side = { id: 'n1', tool: 'adp_notes.append', params: { text: 'x' }, depends_on: ['s2'] }
  const failing = { 'adp_notes.append': [{ status: 'error' as const, error: 'adapter_error' }] }
  const added = (more: object) =>
    withTemplate((each) => ({
      ...each,
      steps: [...each.steps.slice(0, 2), { ...side, ...more }, ...each.steps.slice(2)],
    }))
  assert.equal(endOf({ ...low, tools: failing }, added({})), 'ESCALATED completed step_failed')
  assert.equal(endOf({ ...low, tools: failing }, added({ on_error: 'continue' })), 'DECIDED completed posted')
  const skipped = added({ when: { '===': [{ var: 'steps.s2.output.verified' }, false] } })
  const { ending, effects } = drive(low, { facts: skipped })
  assert(ending !== 'paused' && ending.outcome === 'posted')
  assert(!effects.some(({ step }) => step === 'n1'))
})

test('an argument that is never known is no call: the plan is sent back [R-04]', () => {
  const known = withTemplate((each) => ({
    ...each,
    steps: each.steps.map((step) =>
      step.id === 's2' ? { ...step, params: { id: { $expr: { var: 'steps.s1.output.gone' } } } } : step,
    ),
  }))
  const { ending, effects } = drive(low, { facts: known })
  assert(ending !== 'paused' && ending.cause === 'loop_guard')
  assert.deepEqual(
    effects.map(({ step }) => step),
    ['s1'],
  )
})

const admitted = (more: Partial<LoopFacts>): LoopFacts => {
  const steps = facts.known.templates.flatMap(({ steps: all }) => all)
  const specs = facts.known.specs.map((spec) => ({ ...spec, required_evidence: ['stock_count'] }))
  return {
    ...facts,
    known: { ...facts.known, specs, templates: facts.known.templates.map((each) => ({ ...each, steps })) },
    ...more,
  }
}
const counted = (value: boolean, more: object = {}) =>
  evidenceOf(`kg:count:${value}#snapshot_1`, { verified: value }, { key: 'stock_count', ...more })

const evidence: readonly [string, LoopFacts['evidence'], string][] = [
  ['current', [counted(true)], 'DECIDED completed posted'],
  ['missing', [], 'DEFERRED completed evidence_missing'],
  ['only asserted', [counted(true, { authority: 'asserted' })], 'DEFERRED completed evidence_missing'],
  ['not to be trusted', [counted(true, { authority: 'untrusted' })], 'DEFERRED completed evidence_missing'],
  ['in conflict', [counted(true), counted(false)], 'DEFERRED completed evidence_conflict'],
  ['marked as in conflict', [counted(true, { conflicts: ['kg:x'] })], 'DEFERRED completed evidence_conflict'],
  ['resolved', [counted(true, { resolution_ref: 'res_1' }), counted(false)], 'DECIDED completed posted'],
]
test.each(evidence)('evidence that is %s [R-84 R-105]', (_, given, expected) => {
  assert.equal(endOf(low, admitted({ evidence: given })), expected)
})

test('evidence that goes stale before the effect keeps it from happening [R-84]', () => {
  const lasting = counted(true, { expires_at: '2026-11-02T09:00:01.000Z' })
  const known = admitted({ evidence: [lasting] })
  const later = { now: '2026-11-02T09:00:02.000Z' }
  const { ending, effects } = drive(low, {
    facts: known,
    seen: (events) =>
      events.some(({ type, data }) => type === 'tool.finished' && data['step'] === 's2') ? later : undefined,
  })
  assert(ending !== 'paused')
  assert.deepEqual([ending.record_status, ending.cause], ['DEFERRED', 'evidence_stale'])
  assert.deepEqual(
    effects.map(({ step }) => step),
    ['s1', 's2'],
  )
})

test('an outcome outside the closed set, or without a result behind it, is never decided [R-85]', () => {
  const outcomes = (outcome: TaskTemplate['decision']['outcome'], tools = {}) =>
    endOf(
      { ...low, tools },
      withTemplate((each) => ({
        ...each,
        steps: each.steps.map((step) => ({ ...step, on_error: 'continue' as const })),
        decision: { ...each.decision, outcome },
      })),
    )
  assert.equal(outcomes('posted'), 'DECIDED completed posted')
  assert.equal(outcomes('partly'), 'ESCALATED completed violates_decision_spec')
  assert.equal(outcomes({ var: 'steps.s9.status' }), 'ESCALATED completed violates_decision_spec')
  const failing = { 'adp_ledger.post_write_off': [{ status: 'failed', error: 'adapter_transport' }] }
  assert.equal(outcomes('posted', failing), 'ESCALATED completed violates_decision_spec')
  assert.equal(outcomes('declined', failing), 'DECIDED completed declined')
})

test('who may only propose decides nothing [R-86]', () => {
  const specs = facts.known.specs.map((spec) => ({ ...spec, decision_right: 'propose' as const }))
  const known = { ...facts, known: { ...facts.known, specs } }
  assert.equal(endOf(low, known), 'REJECTED completed violates_decision_spec')
  const looking = {
    planner: [
      {
        steps: [
          { id: 's1', tool: 'adp_count.verify', params: {} },
          { id: 's2', tool: 'adp_stock.lookup', params: {} },
        ],
        decision_checkpoints: [{ decision_id: 'stock.write_off.post', after_step: 's2' }],
      },
    ],
  }
  assert.equal(endOf({ ...low, ...looking }, known), 'ESCALATED completed decision_right')
})

test('what ran without the approval it needed is never accepted [R-101]', () => {
  const high = { context: { amount_minor: 640_000 } }
  const known = loopFacts(high)
  const { events } = drive({ ...high, approval: 'approve' }, { facts: known })
  const unapproved = events
    .filter(({ type }) => type !== 'critic.score')
    .map(({ data: { approver, ...data }, ...event }) => ({ ...event, data }))
  const move = nextMove(readProgress(unapproved), known)
  assert(move.do === 'note' && move.type === 'critic.score')
  assert.deepEqual(
    [move.data.verdict, move.data.cause, move.data.scorecard.scores['safety']],
    ['escalate', 'floor_failed', 0],
  )
})

test('a planner that is told each answer goes on after one that went wrong, and its last words are the output [R-05]', () => {
  const failing = { 'adp_stock.lookup': [{ status: 'failed' as const, error: 'adapter_transport', retryable: true }] }
  const looking = { steps: [{ id: 's1', tool: 'adp_stock.lookup', params: {} }] }
  const specs = facts.known.specs.map((spec) => ({
    ...spec,
    required_evidence: [],
    allowed_outcomes: ['answered'],
    eligibility_rules: true,
  }))
  const known = { ...facts, known: { ...facts.known, specs, templates: [] } }
  const talking = { planner: [looking, looking, { steps: [] }], tools: failing, strategy: 'loop:m' }
  const { ending, effects } = drive({ ...low, ...talking }, { facts: known })
  assert(ending !== 'paused')
  assert.deepEqual([ending.record_status, ending.outcome, ending.outputs], ['DECIDED', 'answered', { text: 'done' }])
  assert.equal(effects.length, 2)
})

test('a decision that wants a second evaluator waits for its yes [R-101]', () => {
  const specs = facts.known.specs.map((spec) => ({ ...spec, challenge_required: true }))
  const known = { ...facts, known: { ...facts.known, specs } }
  assert.equal(endOf(low, known), 'ESCALATED completed challenge_failed')
  const challenge = {
    evaluator_id: 'safety' as const,
    evaluator_version: '1',
    score: 1,
    findings: [],
    trace_id: facts.context.trace_id,
  }
  assert.equal(
    endOf(low, { ...known, challenge: { ...challenge, status: 'fail' } }),
    'ESCALATED completed challenge_failed',
  )
  assert.equal(endOf(low, { ...known, challenge: { ...challenge, status: 'pass' } }), 'DECIDED completed posted')
})

test('a key names one effect of a step: the same arguments, the same key [R-05]', () => {
  const key = idempotencyKey('run_1', 's1', { a: 1, b: 2 })
  keyForm.parse(key)
  assert.equal(idempotencyKey('run_1', 's1', { b: 2, a: 1 }), key)
  const others: Parameters<typeof idempotencyKey>[] = [
    ['run_2', 's1', { a: 1, b: 2 }],
    ['run_1', 's2', { a: 1, b: 2 }],
    ['run_1', 's1', { a: 1 }],
  ]
  assert.equal(new Set([key, ...others.map((each) => idempotencyKey(...each))]).size, 4)
})

test('a run that is resumed after its end is judged again, and repeats nothing that was done [R-05]', () => {
  const known = { ...facts, limits: { calls: 2, replans: 2 } }
  const short = drive(low, { facts: known })
  assert(short.ending !== 'paused' && short.ending.cause === 'budget_tool_calls')
  const resumed: readonly Event[] = [...short.events, { type: 'run.resumed', at: facts.now, data: {} }]
  const { ending, effects } = drive(low, { facts, before: resumed })
  assert(ending !== 'paused' && ending.outcome === 'posted')
  assert.equal(effects.length, 3)
})
