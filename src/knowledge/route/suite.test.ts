import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { type SelectionSuite, selectionResult } from '../../model/knowledge/records.ts'
import { gradeSuite, promptsOf, readSuite, type SuiteAnswer, suiteRole } from './suite.ts'

const from = { path: 'evals/discovery.train.json', pack: 'pumps' }
const suite: SelectionSuite = {
  pack_name: 'pumps',
  cases: [
    { id: 'a', prompt: 'what pressure can the pump take', expected: 'select' },
    { id: 'b', prompt: 'write a poem', expected: 'reject' },
    { id: 'c', prompt: 'old pump limits', expected: 'warn', expected_warnings: ['claim-stale'] },
  ],
}
const codes = (value: unknown) => readSuite(value, from).diagnostics.map(({ code }) => code)

test('a suite is read as it is, and in its old form with a warning [K-94]', () => {
  assert.deepEqual(readSuite(suite, from), { suite, diagnostics: [] })
  const old = readSuite(
    {
      queries: [
        { query: 'pump?', should_select: true },
        { query: 'no', should_select: false },
      ],
    },
    from,
  )
  assert.deepEqual(
    old.diagnostics.map(({ code, severity }) => [code, severity]),
    [['suite-old', 'warning']],
  )
  assert.deepEqual(old.suite?.cases, [
    { id: 'query-1', prompt: 'pump?', expected: 'select' },
    { id: 'query-2', prompt: 'no', expected: 'reject' },
  ])
})

test('what is no suite, or speaks for another pack, is dropped with its code [K-94]', () => {
  assert.deepEqual(codes({ ...suite, pack_name: 'valves' }), ['suite-mismatch'])
  assert.deepEqual(codes({ pack_name: 'valves', queries: [{ query: 'x', should_select: true }] }), ['suite-mismatch'])
  for (const value of [null, [], 'x', {}, { ...suite, more: 1 }, { ...suite, cases: [] }, { queries: [{}] }]) {
    assert.deepEqual(codes(value), ['record-invalid'])
  }
  fc.assert(fc.property(fc.jsonValue(), (value) => assert.ok(codes(value).length <= 1)))
})

test('prompts count for packs that somebody answers for, and for no others [K-44]', () => {
  const suites = [{ path: from.path, suite }]
  assert.deepEqual(promptsOf(suites, true), {
    select: ['what pressure can the pump take', 'old pump limits'],
    reject: ['write a poem'],
  })
  assert.deepEqual(promptsOf(suites, false), { select: [], reject: [] })
})

test('nothing is learned from a validation suite, or from a file of another name [K-95]', () => {
  for (const path of ['evals/discovery.validation.json', 'evals/answer-quality.json', 'evals/x/discovery.train.json']) {
    assert.deepEqual(promptsOf([{ path, suite }], true), { select: [], reject: [] })
  }
  assert.equal(suiteRole('evals/discovery.validation.json'), 'validation')
  assert.equal(suiteRole('evals/discovery.json'), 'train')
})

test('a result counts hits, misses, strays and warnings [K-94]', () => {
  const all = gradeSuite('train', suite, () => ({ selected: true, warnings: [] }))
  assert.deepEqual(all.summary, {
    passed: 1,
    failed: 2,
    precision: 2 / 3,
    recall: 1,
    false_positives: 1,
    false_negatives: 0,
    warning_accuracy: 0,
  })
  assert.deepEqual(all.results[2], { id: 'c', expected: 'warn', actual: 'select', passed: false })
  const none = gradeSuite('train', suite, () => ({ selected: false, warnings: [] }))
  assert.equal(none.summary.recall, 0)
  assert.equal(none.summary.precision, 1)
  assert.equal(none.summary.false_negatives, 2)
})

test('a case that expects warnings passes with all of them and not with others [K-94]', () => {
  const passed = (warnings: readonly string[]) =>
    gradeSuite('train', suite, () => ({ selected: true, warnings })).results[2]?.passed
  assert.equal(passed(['claim-stale', 'truncated']), true)
  assert.equal(passed(['truncated']), false)
  assert.equal(passed([]), false)
})

test('every result has the shape of the record, and passed and failed add up [K-94]', () => {
  const answer: fc.Arbitrary<SuiteAnswer> = fc.record({
    selected: fc.boolean(),
    warnings: fc.array(fc.constantFrom('claim-stale', 'truncated')),
  })
  fc.assert(
    fc.property(answer, (actual) => {
      const result = gradeSuite('validation', suite, () => actual)
      assert.deepEqual(selectionResult.parse(result), result)
      assert.equal(result.summary.passed + result.summary.failed, suite.cases.length)
    }),
  )
})
