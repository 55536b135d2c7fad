import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { evidenceOf } from '../../../test/support/contract.ts'
import { loopFacts } from '../../../test/support/governed.ts'
import { sweep } from '../../../test/support/sweep.ts'
import { referenceVerify } from '../../../test/support/verify-reference.ts'
import { tiers } from '../../model/contract/context.ts'
import { type VerifyVerdict, verifyVerdict } from '../../model/contract/decision.ts'
import type { Plan, PlanStep } from '../../model/contract/plan.ts'
import type { LoopFacts } from './facts.ts'
import { readProgress } from './progress.ts'
import { verify } from './verify.ts'

const facts = loopFacts()
const step = (id: string, tool: string, more: Partial<PlanStep> = {}): PlanStep => ({ id, tool, params: {}, ...more })
const plan = (steps: readonly PlanStep[], more: Partial<Plan> = {}): Plan => ({
  ...{ plan_id: 'plan_1', intent: 'stock.write_off', steps: [...steps], decision_checkpoints: [] },
  ...more,
})
const proposed = (made: Plan, attempt = 0) => ({ type: 'plan.proposed', data: { attempt, plan: made } }) as never
const sentBack = (kind: string) => ({ type: 'critic.verify', data: { verdict: 'replan', kind, reasons: [] } }) as never

const verdictOn = (made: Plan, more: Partial<LoopFacts> = {}, before: readonly never[] = []): VerifyVerdict =>
  verify({ ...facts, ...more, progress: readProgress([...before, proposed(made)]) })
const word = (verdict: VerifyVerdict): string =>
  verdict.verdict === 'ok' ? 'ok' : `${verdict.verdict} ${verdict.kind}`

const posts = step('s3', 'adp_ledger.post_write_off', { params: { amount_minor: 640_000, currency: 'EUR' } })
const decides = { decision_checkpoints: [{ decision_id: 'stock.write_off.post', after_step: 's3' }] }
const lookup = step('s1', 'adp_stock.lookup')
const count = step('s2', 'adp_count.verify')

const withRight = (decision_right: 'propose' | 'execute'): Partial<LoopFacts> => {
  const specs = facts.known.specs.map((spec) => ({ ...spec, decision_right }))
  return { known: { ...facts.known, specs } }
}

const table: readonly [string, VerifyVerdict][] = [
  ['ok', verdictOn(plan([lookup, count, posts], decides))],
  ['replan plan_invalid', verdictOn(plan([lookup], { intent: 'stock.burn' }))],
  [
    'replan plan_invalid',
    verify({ ...facts, progress: readProgress([{ type: 'plan.proposed', data: { plan: null } }]) }),
  ],
  ['replan unsurfaced_capability', verdictOn(plan([step('s1', 'adp_ledger.close_period')]))],
  [
    'replan violates_decision_spec',
    verdictOn(plan([posts], { decision_checkpoints: [{ decision_id: 'x', after_step: 's3' }] })),
  ],
  ['reject violates_decision_spec', verdictOn(plan([lookup, count, posts], decides), withRight('propose'))],
  ['ok', verdictOn(plan([lookup, step('s4', 'adp_notes.append')]), withRight('propose'))],
  ['replan missing_evidence', verdictOn(plan([lookup, posts], decides))],
  ['replan approval_mode_mismatch', verdictOn(plan([{ ...posts, approval_mode: 'local_write' }]))],
  ['replan approval_mode_mismatch', verdictOn(plan([{ ...lookup, approval_mode: 'network' }]))],
  ['reject budget_exceeded', verdictOn(plan([lookup, count]), { limits: { calls: 1, replans: 1 } })],
  [
    'reject loop_guard',
    verdictOn(plan([count], { plan_id: 'plan_2' }), {}, [proposed(plan([count])), sentBack('plan_invalid')]),
  ],
  [
    'reject missing_evidence',
    verdictOn(plan([count, posts], decides), {
      ...facts,
      compiled: {
        ...facts.compiled,
        context_ledger: { ...facts.compiled.context_ledger, tools: ['adp_count.verify', 'adp_ledger.post_write_off'] },
      },
    }),
  ],
]

test.each(table)('a plan of its kind is answered with %s [R-04 R-86]', (expected, verdict) => {
  assert.equal(word(verdict), expected)
  verifyVerdict.parse(verdict)
})

test('of evidence that is only asserted there is none, unless the spec accepts it [R-84]', () => {
  const asserted = evidenceOf(
    'kg:count:1#snapshot_1',
    { verified: true },
    { key: 'count_verified', authority: 'asserted' },
  )
  const given = { evidence: [asserted] }
  assert.equal(word(verdictOn(plan([lookup, posts], decides), given)), 'replan missing_evidence')
  const specs = facts.known.specs.map((spec) => ({ ...spec, accept_asserted: ['count_verified'] }))
  assert.equal(word(verdictOn(plan([lookup, posts], decides), { ...given, known: { ...facts.known, specs } })), 'ok')
})

const tools = [
  ...['adp_stock.lookup', 'adp_count.verify', 'adp_notes.append', 'adp_mail.notify_owner'],
  ...['adp_ledger.post_write_off', 'adp_ledger.close_period'],
]
const ids = ['s1', 's2', 's3']
const anyStep = fc.record(
  {
    id: fc.constantFrom(...ids),
    tool: fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...tools.slice(0, 5)) }, fc.constantFrom(...tools)),
    params: fc.constantFrom({}, { amount_minor: 180_000 }, { amount_minor: 640_000 }, { amount_minor: 'much' }),
    depends_on: fc.subarray(ids, { maxLength: 1 }),
    approval_mode: fc.constantFrom(...tiers),
  },
  { requiredKeys: ['id', 'tool', 'params'], noNullPrototype: true },
) as fc.Arbitrary<PlanStep>
const anyPlan = fc.record({
  plan_id: fc.constantFrom('plan_1', 'plan_2'),
  intent: fc.oneof({ weight: 20, arbitrary: fc.constant('stock.write_off') }, fc.constant('stock.burn')),
  steps: fc.oneof(
    fc.uniqueArray(anyStep, { maxLength: 3, selector: ({ id }) => id }),
    fc.array(anyStep, { maxLength: 2 }),
  ),
  decision_checkpoints: fc.array(
    fc.record({
      decision_id: fc.constantFrom('stock.write_off.post', 'stock.write_off.post', 'x'),
      after_step: fc.constantFrom(...ids),
    }),
    { maxLength: 1 },
  ),
}) as fc.Arbitrary<Plan>

test('verify agrees with the slow reference on random plans and facts [R-04 R-86]', () => {
  const answers = new Map<string, number>()
  const evidence = evidenceOf('kg:count:1#snapshot_1', { verified: true }, { key: 'count_verified' })
  fc.assert(
    fc.property(
      ...([anyPlan, fc.option(anyPlan), fc.boolean(), fc.boolean(), fc.boolean()] as const),
      ...([fc.integer({ min: 0, max: 3 }), fc.constantFrom('execute', 'propose')] as const),
      (made, other, isSame, wasUnsurfaced, isAdmitted, calls, right) => {
        const more = { ...facts, ...withRight(right as 'execute'), limits: { calls, replans: 2 } }
        more.packs = { ...more.packs, packs: { ...more.packs.packs, specs: more.known.specs } }
        const given = isAdmitted ? { ...more, evidence: [evidence] } : more
        const earlier = [...(other ? [other] : []), ...(isSame ? [made] : [])]
        const kinds = wasUnsurfaced && earlier.length > 0 ? 'unsurfaced_capability' : 'plan_invalid'
        const before = earlier.flatMap((each) => [proposed(each), sentBack(kinds)])
        const found = word(verdictOn(made, given, before))
        const unsurfacedBefore = kinds === 'unsurfaced_capability'
        assert.equal(found, referenceVerify({ plan: made, sentBack: earlier, unsurfacedBefore, facts: given }))
        answers.set(found, (answers.get(found) ?? 0) + 1)
      },
    ),
    { numRuns: sweep(2_000, 20_000) },
  )
  assert(answers.size >= 9, JSON.stringify([...answers]))
})
