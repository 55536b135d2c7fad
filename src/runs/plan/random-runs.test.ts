import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { drive, loopFacts, type RunCase, type ToolScript } from '../../../test/support/governed.ts'
import { sweep } from '../../../test/support/sweep.ts'
import { scoreVerdict, verifyVerdict } from '../../model/contract/decision.ts'
import type { Plan } from '../../model/contract/plan.ts'
import { nextMove } from './next-move.ts'
import { readProgress } from './progress.ts'

const facts = loopFacts({ context: { amount_minor: 180_000 } })

// Random planners, tools and people.

const tools = [
  'adp_stock.lookup',
  'adp_count.verify',
  'adp_notes.append',
  'adp_ledger.post_write_off',
  'adp_ledger.close_period',
]
const anyStep = fc.record({
  id: fc.constantFrom('s1', 's2', 's3'),
  tool: fc.constantFrom(...tools),
  params: fc.constantFrom(
    {},
    { amount_minor: 180_000 },
    { amount_minor: 640_000 },
    { x: { $expr: { var: 'steps.s1.output.units' } } },
  ),
})
const anyPlan = fc.record({
  steps: fc.uniqueArray(anyStep, { maxLength: 3, selector: ({ id }) => id }),
  decision_checkpoints: fc.constantFrom([], [], [{ decision_id: 'stock.write_off.post', after_step: 's1' }]),
}) as unknown as fc.Arbitrary<Plan>
const codes = [
  ...['adapter_timeout', 'adapter_error', 'outcome_unknown', 'policy_denied', 'args_invalid', 'budget_cost'],
  ...['approval_stale', 'safety_blocked', 'capability_unavailable', 'claim_invalid', 'requires_unmet'],
]
const anyAnswer: fc.Arbitrary<ToolScript> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ output: { verified: true, units: 3 } }) },
  fc.constantFrom({ output: { verified: false } }, { output: null }),
  fc.record({
    status: fc.constantFrom('failed', 'error', 'rejected', 'blocked'),
    error: fc.constantFrom(...codes),
    retryable: fc.boolean(),
    retries: fc.integer({ min: 0, max: 2 }),
  }) as fc.Arbitrary<ToolScript>,
)
const anyRun: fc.Arbitrary<Partial<RunCase>> = fc.record({
  planner: fc.option(fc.array(anyPlan, { minLength: 1, maxLength: 4 }), { nil: undefined, freq: 2 }),
  tools: fc.record(
    Object.fromEntries(tools.map((tool) => [tool, fc.array(anyAnswer, { minLength: 1, maxLength: 3 })])),
  ),
  approval: fc.constantFrom(undefined, 'approve', 'deny', 'expire'),
  limits: fc.record({ calls: fc.integer({ min: 0, max: 8 }), replans: fc.integer({ min: 0, max: 3 }) }),
}) as fc.Arbitrary<Partial<RunCase>>
const anyStop = fc.record({
  at: fc.integer({ min: 0, max: 40 }),
  change: fc.constantFrom(
    {},
    { cancelled: true },
    { identityLapsed: true },
    { hardStop: { cause: 'budget_wall_clock', limit: 5, used: 6 } },
  ),
})

test('whatever planner, tools and people answer, a run stays within its limits and ends as its last verdict says [R-04 R-05 R-84 R-85 R-101]', () => {
  const ends = new Map<string, number>()
  fc.assert(
    fc.property(anyRun, anyStop, fc.constantFrom(180_000, 640_000), (given, stop, amount_minor) => {
      const context = { ...facts.request.context, amount_minor }
      const known = { ...facts, request: { ...facts.request, context }, limits: given.limits ?? facts.limits }
      const stopped: { effects?: number } = {}
      const {
        ending,
        progress,
        effects,
        events,
        facts: last,
      } = drive(given, {
        facts: known,
        seen: (all) => {
          if (all.length < stop.at) return undefined
          stopped.effects ??= all.filter(({ type }) => type === 'tool.started').length
          return stop.change
        },
      })
      const verdicts = events.flatMap(({ type, data }) => (type.startsWith('critic.') ? [{ type, data }] : []))
      for (const { type, data } of verdicts) (type === 'critic.verify' ? verifyVerdict : scoreVerdict).parse(data)
      assert(progress.callsUsed <= known.limits.calls && progress.replansUsed <= known.limits.replans)
      if (Object.keys(stop.change).length > 0 && stopped.effects !== undefined)
        assert.equal(events.filter(({ type }) => type === 'tool.started').length, stopped.effects)
      const planned = progress.plans.flatMap(({ plan, verify, calls }) =>
        verify?.verdict === 'ok' ? calls.map(({ step, capability_id }) => ({ plan, step, capability_id })) : [],
      )
      assert.equal(planned.length, progress.callsUsed)
      for (const { plan, step, capability_id } of planned)
        assert(plan?.steps.some(({ id, tool }) => id === step && tool === capability_id))
      for (const { capability_id, effective, requested, highest } of effects) {
        assert(known.compiled.context_ledger.tools.includes(capability_id))
        const rank = (tier: string) => ['read_only', 'local_write', 'network', 'delegated', 'destructive'].indexOf(tier)
        assert(rank(effective) <= rank(requested) && rank(requested) <= rank(highest))
      }
      if (ending === 'paused') return
      assert.deepEqual(nextMove(readProgress(events), last), { do: 'end', ending })
      const final = progress.plans.at(-1)?.score
      const { record_status, outcome } = ending
      ends.set(record_status, (ends.get(record_status) ?? 0) + 1)
      assert.equal(record_status === 'DECIDED', final?.verdict === 'accept' && final.ok)
      if (final?.verdict === 'accept')
        assert(final.scorecard.scores['safety'] === 1 && final.scorecard.scores['policy'] === 1)
      if (record_status !== 'DECIDED') return
      assert(['posted', 'declined', 'escalated'].includes(outcome ?? ''))
      const provided = (tool: string) =>
        progress.plans.some(({ calls }) =>
          calls.some(
            (call) => call.capability_id === tool && call.answer?.status === 'ok' && call.answer.output !== null,
          ),
        )
      assert(provided('adp_stock.lookup') && provided('adp_count.verify'))
    }),
    { numRuns: sweep(1_500, 15_000) },
  )
  assert(ends.size === 4, JSON.stringify([...ends]))
})
