import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import { undecided } from '../../policy/conditions/values.ts'
import { expressionValue, resolveParams, verdictOf } from './expressions.ts'

const facts = {
  request: { context: { amount: 7, batch: 'b1', list: [1, 2] } },
  run: { safety_mode: 'delegated' },
  steps: { s1: { status: 'ok', output: { units: 3 } } },
}
const from = (path: string): Json => ({ $expr: { var: path } })

test('parameters take what request, run and finished steps say, at any depth [R-77]', () => {
  const params = {
    plain: 'x',
    amount: from('request.context.amount'),
    deep: { list: [from('steps.s1.output.units'), 2], whole: from('request.context.list') },
    sum: { $expr: { '+': [{ var: 'request.context.amount' }, { var: 'steps.s1.output.units' }] } },
  }
  assert.deepEqual(resolveParams(params, facts), {
    params: { plain: 'x', amount: 7, deep: { list: [3, 2], whole: [1, 2] }, sum: 10 },
    problems: [],
  })
})

test('a member without a value is left out and named, never guessed [R-77]', () => {
  const { params, problems } = resolveParams(
    {
      ok: 1,
      gone: { in: [from('steps.s9.output')] },
      bad: { $expr: { '+': ['x', 1] } },
      odd: { $expr: true, more: 1 },
    },
    facts,
    's2',
  )
  assert.deepEqual(params, { ok: 1 })
  assert.deepEqual(
    problems.map(({ step, member, kind }) => [step, member, kind]),
    [
      ['s2', '/gone/in/0', 'undecided'],
      ['s2', '/bad', 'faulty'],
      ['s2', '/odd', 'faulty'],
    ],
  )
})

test('an expression reads request, run and steps alone [R-77]', () => {
  assert(expressionValue({ var: 'user.role' }, facts) instanceof Object)
  assert.equal(expressionValue({ var: 'steps.s2.status' }, facts), undecided)
  assert.equal(verdictOf({ '===': [{ var: 'steps.s1.status' }, 'ok'] }, facts), true)
  assert.match(String((expressionValue({ nope: [] }, facts) as { message?: string }).message), /no operator/)
})
