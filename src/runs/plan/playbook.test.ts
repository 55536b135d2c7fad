import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import type { TaskTemplate } from '../../model/contract/pack.ts'
import { inOrder, parsePlan } from './parse-plan.ts'
import { planFromTemplates } from './playbook.ts'

const template = (template_id: string, more: Partial<TaskTemplate> = {}): TaskTemplate => ({
  ...{ template_id, version: '1.0.0', decision_keys: ['d'], steps: [{ id: 's1', tool: 'a.b', params: {} }] },
  decision: { decision_key: 'd', outcome: 'done', outputs: {} },
  ...more,
})
const planned = (
  templates: readonly TaskTemplate[],
  sentBack: readonly string[] = [],
  context: Record<string, Json> = {},
) =>
  planFromTemplates({
    ...{ templates, sentBack, planId: 'plan_1', run: {}, steps: {} },
    request: { intent: 'i', context },
  })

test('the eligible template of the highest priority is planned, of equal ones the first by name [R-04]', () => {
  const all = [template('c'), template('a'), template('b', { priority: 5, when: { var: 'request.context.urgent' } })]
  assert.equal(planned(all)?.template_id, 'a')
  assert.equal(planned(all, [], { urgent: true })?.template_id, 'b')
  assert.equal(planned(all, [], { urgent: false })?.template_id, 'a')
  assert.equal(planned([template('x', { when: false })]), undefined)
})

test('after a plan was sent back comes the next template, and at last the same plan again [R-04]', () => {
  const all = [template('a'), template('b')]
  assert.equal(planned(all, ['a'])?.template_id, 'b')
  assert.deepEqual(planned(all, ['a', 'b'])?.template_id, 'b')
})

test('a step that cannot be wanted is dropped, and what is not known yet stays an expression [R-04]', () => {
  const steps: TaskTemplate['steps'] = [
    { id: 's1', tool: 'a.b', params: { id: { $expr: { var: 'request.context.id' } } }, provides: ['k'] },
    { id: 's2', tool: 'a.c', params: {}, when: false },
    {
      ...{ id: 's3', tool: 'a.d', depends_on: ['s1', 's2'], approval_mode: 'network' as const },
      params: { units: { $expr: { var: 'steps.s1.output.units' } } },
    },
    { id: 's4', tool: 'a.e', params: {}, on_error: 'continue' },
  ]
  assert.deepEqual(planned([template('a', { steps })], [], { id: 7 }), {
    template_id: 'a',
    planner: 'playbook:a@1.0.0',
    plan: {
      plan_id: 'plan_1',
      intent: 'i',
      steps: [
        { id: 's1', tool: 'a.b', params: { id: 7 } },
        {
          ...{ id: 's3', tool: 'a.d', approval_mode: 'network', depends_on: ['s1'] },
          params: { units: { $expr: { var: 'steps.s1.output.units' } } },
        },
        { id: 's4', tool: 'a.e', params: {} },
      ],
      decision_checkpoints: [{ decision_id: 'd', after_step: 's3' }],
    },
  })
})

const good = {
  plan_id: 'plan_1',
  intent: 'i',
  steps: [{ id: 's1', tool: 'a.b', params: {} }],
  decision_checkpoints: [],
}
const step = (id: string, depends_on: string[] = []) => ({ id, tool: 'a.b', params: {}, depends_on })

test.each([
  ['text that is no JSON', '{"plan_id": ', /a value was expected/],
  ['a member it does not know', { ...good, approved: true }, /`\/approved` is not a known member/],
  ['a member that a step does not have', { ...good, steps: [{ ...step('s1'), grants: [] }] }, /grants/],
  ['no steps', { ...good, steps: undefined }, /steps/],
  ['two steps of one id', { ...good, steps: [step('s1'), step('s1')] }, /two steps have the id `s1`/],
  ['a circle', { ...good, steps: [step('s1', ['s2']), step('s2', ['s1'])] }, /circle/],
  ['a dependency on nothing', { ...good, steps: [step('s1', ['s9'])] }, /`s9` is no step/],
  ['a decision after nothing', { ...good, decision_checkpoints: [{ decision_id: 'd', after_step: 's9' }] }, /`s9`/],
  [
    'an expression that is none',
    { ...good, steps: [{ ...step('s1'), params: { a: { $expr: { eval: 1 } } } }] },
    /eval/,
  ],
])('an untrusted plan is refused in words for %s [R-04]', (_, value, expected) => {
  const read = parsePlan(value)
  assert('problems' in read)
  assert.match(read.problems.join('\n'), expected)
})

test('a good plan is read from text and from data [R-04]', () => {
  assert.deepEqual(parsePlan(JSON.stringify(good)), { plan: good })
  assert.deepEqual(parsePlan(good), { plan: good })
})

test('steps come in an order in which each follows what it depends on, or there is a circle [R-04]', () => {
  const ids = ['a', 'b', 'c', 'd']
  const graph = fc.array(fc.record({ id: fc.constantFrom(...ids), depends_on: fc.subarray(ids) }), { maxLength: 4 })
  fc.assert(
    fc.property(graph, (nodes) => {
      const steps = nodes.filter(({ id }, index) => nodes.findIndex((each) => each.id === id) === index)
      const ordered = inOrder(steps)
      const known = new Set(steps.map(({ id }) => id))
      const fits = (order: readonly { id: string; depends_on: string[] }[]): boolean =>
        order.every(({ depends_on }, at) =>
          depends_on.every((id) => !known.has(id) || order.slice(0, at).some((before) => before.id === id)),
        )
      if (ordered === undefined) assert(!permutations(steps).some(fits))
      else assert(ordered.length === steps.length && fits(ordered))
    }),
  )
})

const permutations = <T>(all: readonly T[]): T[][] =>
  all.length === 0
    ? [[]]
    : all.flatMap((each, index) => permutations(all.toSpliced(index, 1)).map((rest) => [each, ...rest]))

test('of a template with any params the plan has the same members [R-04]', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.constant({ $expr: { var: 'steps.x' } }))),
      (params) => {
        const made = planned([template('a', { steps: [{ id: 's1', tool: 'a.b', params }] })])
        const first = made?.plan.steps[0]
        assert.deepEqual(Object.keys(first?.params ?? {}).sort(), Object.keys(params).sort())
      },
    ),
  )
})
