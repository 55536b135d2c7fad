import assert from 'node:assert/strict'
import fc from 'fast-check'
import { LogicEngine } from 'json-logic-engine'
import { test } from 'vitest'
import { conditions, facts, wholeFacts, wildFacts } from '../../../test/support/policy-arbitrary.ts'
import { referenceVerdict } from '../../../test/support/policy-reference.ts'
import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { compileCondition } from './condition.ts'
import { type Facts, Fault, undecided } from './values.ts'

const context: Facts = {
  count: 2,
  zero: 0,
  word: 'ab',
  digits: '2',
  flag: true,
  off: false,
  nothing: null,
  list: ['a', 2],
  empty: [],
  rows: [{ n: 1 }, { n: 5 }],
  holes: [{ n: 1 }, {}],
  deep: { list: [{ word: 'x' }] },
  blank: {},
}

/** `true`, `false`, `undecided` or `error`. */
const verdict = (when: Json, given: Facts = { context }): string => {
  const answer = compileCondition(when).evaluate(given)
  return answer instanceof Fault ? 'error' : answer === undecided ? 'undecided' : String(answer)
}
const fact = (name: string): Json => ({ var: `context.${name}` })

const verdicts: readonly (readonly [when: Json, verdict: string])[] = [
  [true, 'true'],
  [false, 'false'],
  [fact('flag'), 'true'],
  [fact('gone'), 'undecided'],
  [fact('count'), 'error'],
  [{ '==': [fact('count'), 2] }, 'true'],
  [{ '===': [fact('count'), 3] }, 'false'],
  [{ '==': [fact('digits'), 2] }, 'false'],
  [{ '!=': [fact('digits'), 2] }, 'true'],
  [{ '!==': [fact('count'), 2] }, 'false'],
  [{ '==': [fact('gone'), 2] }, 'undecided'],
  [{ '!=': [2, fact('gone')] }, 'undecided'],
  [{ '==': [fact('list'), 2] }, 'error'],
  [{ '==': [fact('deep'), fact('gone')] }, 'error'],
  [{ '!': fact('gone') }, 'true'],
  [{ '!!': fact('gone') }, 'false'],
  [{ '!!': fact('nothing') }, 'false'],
  [{ '!!': [fact('word')] }, 'true'],
  [{ '!!': [fact('zero')] }, 'false'],
  [{ '!!': [fact('empty')] }, 'false'],
  [{ '!!': [fact('deep')] }, 'true'],
  [{ '!': [fact('off')] }, 'true'],
  [{ '!!': '' }, 'false'],
  [{ '!': { '>': [fact('gone'), 0] } }, 'undecided'],
  [{ '!!': { '>': [fact('gone'), 0] } }, 'undecided'],
  [{ '!': { '>': [fact('word'), 0] } }, 'error'],
  [{ '!': { missing: ['context.count'] } }, 'true'],
  [{ '!': { missing: ['context.count', 'context.nothing'] } }, 'false'],
  [{ '!': { missing: 'context.gone' } }, 'false'],
  [{ '!': { missing_some: [1, ['context.gone', 'context.count']] } }, 'true'],
  [{ '!': { missing_some: [2, ['context.gone', 'context.count']] } }, 'false'],
  [{ and: [fact('flag'), true] }, 'true'],
  [{ and: [fact('gone'), false] }, 'false'],
  [{ and: [false, fact('count')] }, 'false'],
  [{ and: [fact('gone'), fact('flag')] }, 'undecided'],
  [{ and: [fact('gone'), fact('count')] }, 'error'],
  [{ or: [fact('gone'), true] }, 'true'],
  [{ or: [fact('off'), fact('off')] }, 'false'],
  [{ or: [fact('gone'), false] }, 'undecided'],
  [{ or: [true, fact('count')] }, 'true'],
  [{ or: [fact('word'), true] }, 'error'],
  [{ if: [fact('flag'), fact('off'), true] }, 'false'],
  [{ if: [fact('off'), true, fact('flag'), false, true] }, 'false'],
  [{ if: [fact('gone'), true, true] }, 'true'],
  [{ if: [fact('gone'), true, false] }, 'undecided'],
  [{ if: [fact('gone'), fact('gone'), fact('gone')] }, 'undecided'],
  [{ if: [fact('gone'), { '>': [fact('word'), 1] }, true] }, 'error'],
  [{ if: [fact('gone'), true, { '>': [fact('word'), 1] }] }, 'error'],
  [{ '!!': { if: [fact('gone'), fact('list'), fact('list')] } }, 'undecided'],
  [{ if: [fact('count'), true, true] }, 'error'],
  [{ if: [{ '>': [fact('word'), 1] }, true, true] }, 'error'],
  [{ '==': [{ if: [fact('flag'), 'x', 'y'] }, 'x'] }, 'true'],
  [{ '>': [fact('count'), 1] }, 'true'],
  [{ '>': [fact('count'), 2] }, 'false'],
  [{ '>=': [fact('count'), 2] }, 'true'],
  [{ '>=': [fact('count'), 3] }, 'false'],
  [{ '<': [fact('word'), 'b'] }, 'true'],
  [{ '<': ['b', 'b'] }, 'false'],
  [{ '<=': [fact('count'), 2] }, 'true'],
  [{ '<=': [3, fact('count')] }, 'false'],
  [{ '<': [1, fact('count'), 3] }, 'true'],
  [{ '<': [1, fact('count'), 2] }, 'false'],
  [{ '<=': [3, fact('count'), 9] }, 'false'],
  [{ '<': [3, fact('count'), fact('word')] }, 'error'],
  [{ '<': [1, fact('count'), fact('word')] }, 'error'],
  [{ '<': [fact('word'), 1, 2] }, 'error'],
  [{ '<': [fact('gone'), 3, 2] }, 'false'],
  [{ '<': [fact('gone'), 1, 2] }, 'undecided'],
  [{ '<': [1, 2, fact('gone')] }, 'undecided'],
  [{ '>': [fact('digits'), 1] }, 'error'],
  [{ '>': [fact('gone'), fact('flag')] }, 'error'],
  [{ '>': [fact('gone'), fact('count')] }, 'undecided'],
  [{ in: [fact('count'), [1, 2]] }, 'true'],
  [{ in: [fact('digits'), [1, 2]] }, 'false'],
  [{ in: [fact('gone'), [1, 2]] }, 'undecided'],
  [{ in: [fact('deep'), [1, 2]] }, 'error'],
  [{ in: ['a', fact('list')] }, 'true'],
  [{ in: ['2', fact('list')] }, 'false'],
  [{ in: ['b', fact('word')] }, 'true'],
  [{ in: ['c', fact('word')] }, 'false'],
  [{ in: [2, fact('word')] }, 'error'],
  [{ in: [fact('list'), fact('list')] }, 'error'],
  [{ in: ['a', fact('count')] }, 'error'],
  [{ in: [fact('gone'), fact('count')] }, 'error'],
  [{ in: [fact('deep'), fact('gone')] }, 'error'],
  [{ in: ['a', fact('gone')] }, 'undecided'],
  [{ in: [{ '+': [fact('word'), 1] }, fact('list')] }, 'error'],
  [{ in: [1, { if: [{ '>': [fact('word'), 1] }, fact('list'), fact('list')] }] }, 'error'],
  [{ '==': [{ '+': [1, fact('count'), 3] }, 6] }, 'true'],
  [{ '==': [{ '-': [fact('count'), 3] }, -1] }, 'true'],
  [{ '==': [{ '-': fact('count') }, -2] }, 'true'],
  [{ '==': [{ '*': [fact('count'), 3, 2] }, 12] }, 'true'],
  [{ '==': [{ '/': [fact('count'), 4] }, 0.5] }, 'true'],
  [{ '==': [{ '%': [5, fact('count')] }, 1] }, 'true'],
  [{ '==': [{ min: [fact('count'), 1, 7] }, 1] }, 'true'],
  [{ '==': [{ max: [fact('count'), 1] }, 2] }, 'true'],
  [{ '==': [{ '/': [1, fact('zero')] }, 1] }, 'error'],
  [{ '==': [{ '%': [1, fact('zero')] }, 1] }, 'error'],
  [{ '==': [{ '*': [1e308, 1e308] }, 1] }, 'error'],
  [{ '==': [{ '+': [fact('digits'), 1] }, 3] }, 'error'],
  [{ '==': [{ '+': [fact('gone'), 1] }, 3] }, 'undecided'],
  [{ '==': [{ '+': [fact('gone'), fact('word')] }, 3] }, 'error'],
  [{ '==': [{ var: ['context.gone', 7] }, 7] }, 'true'],
  [{ '==': [{ var: ['context.nothing', 7] }, 7] }, 'true'],
  [{ '==': [{ var: ['context.count', 7] }, 7] }, 'false'],
  [{ some: [{ var: ['context.gone', []] }, true] }, 'false'],
  [{ some: [fact('rows'), { '>': [{ var: 'n' }, 4] }] }, 'true'],
  [{ some: [fact('rows'), { '>': [{ var: 'n' }, 5] }] }, 'false'],
  [{ all: [fact('rows'), { '>': [{ var: 'n' }, 0] }] }, 'true'],
  [{ all: [fact('rows'), { '>': [{ var: 'n' }, 1] }] }, 'false'],
  [{ none: [fact('rows'), { '>': [{ var: 'n' }, 5] }] }, 'true'],
  [{ none: [fact('rows'), { '>': [{ var: 'n' }, 4] }] }, 'false'],
  [{ some: [fact('empty'), true] }, 'false'],
  [{ all: [fact('empty'), true] }, 'false'],
  [{ none: [fact('empty'), true] }, 'true'],
  [{ some: [fact('holes'), { '>': [{ var: 'n' }, 4] }] }, 'undecided'],
  [{ some: [fact('holes'), { '>': [{ var: 'n' }, 0] }] }, 'true'],
  [{ all: [fact('holes'), { '>': [{ var: 'n' }, 4] }] }, 'false'],
  [{ all: [fact('holes'), { '>': [{ var: 'n' }, 0] }] }, 'undecided'],
  [{ none: [fact('holes'), { '>': [{ var: 'n' }, 4] }] }, 'undecided'],
  [{ some: [fact('list'), { '==': [{ var: '' }, 2] }] }, 'true'],
  [{ some: [fact('list'), { '>': [{ var: '' }, 1] }] }, 'error'],
  [{ some: [fact('list'), { var: '' }] }, 'error'],
  [{ some: [fact('gone'), true] }, 'undecided'],
  [{ some: [fact('word'), true] }, 'error'],
  [{ some: [fact('rows'), { '!': { missing: ['n'] } }] }, 'true'],
  [{ '==': [{ var: 'context.deep.list.0.word' }, 'x'] }, 'true'],
  [{ '==': [{ var: 'context.list.1' }, 2] }, 'true'],
]

test.each(verdicts)('%j is %s [H-35]', (when, expected) => {
  assert.equal(verdict(when), expected)
  assert.equal(referenceVerdict(when, { context }), expected)
})

test('a condition finds only what data holds itself: nothing inherited, no parts of text [H-35]', () => {
  for (const path of ['toString', 'constructor.name', 'context.constructor', 'context.list.length', 'context.word.0'])
    assert.equal(verdict({ '!!': { var: path } }), 'false', path)
  for (const path of ['context.list.01', 'context.list.-1', 'context.list.2', 'context.list.x', 'context.flag.x'])
    assert.equal(verdict({ '!!': { var: path } }), 'false', path)
  assert.equal(verdict({ '!!': { var: '__proto__.x' } }, Object.create({ x: 1 })), 'false')
})

test('a condition tells which facts it can read before it runs, those of an item not among them [H-35]', () => {
  const reads = (when: Json) => compileCondition(when).reads
  assert.deepEqual(reads({ and: [fact('b'), { '!': fact('a') }, fact('b')] }), ['context.a', 'context.b'])
  assert.deepEqual(reads({ '!': { missing: ['x', 'a.b'] } }), ['a.b', 'x'])
  assert.deepEqual(reads({ '!': { missing_some: [1, ['x', 'y']] } }), ['x', 'y'])
  assert.deepEqual(reads({ some: [{ var: 'rows' }, { '>': [{ var: 'n' }, 1] }] }), ['rows'])
  assert.deepEqual(reads(true), [])
})

const refused: readonly (readonly [when: Json, pointer: string, message: RegExp])[] = [
  [{ nope: [1] }, '/nope', /^`nope` is no operator$/],
  [{ toString: [1] }, '/toString', /is no operator/],
  [{ '?:': [true, 1, 2] }, '/?:', /is no operator/],
  [null, '', /this is no expression/],
  [[], '', /this is no expression/],
  [{}, '', /this is no expression/],
  [{ '!': [true], '!!': [true] }, '', /this is no expression/],
  [{ and: [true, { '==': [1, null] }] }, '/and/1/==/1', /this is no expression/],
  [{ '==': [1, [1]] }, '/==/1', /this is no expression/],
  [{ '==': [1] }, '/==', /`==` takes 2 operands, not 1/],
  [{ '!': [] }, '/!', /`!` takes 1 operand, not 0/],
  [{ '!': [1, 2] }, '/!', /`!` takes 1 operand, not 2/],
  [{ and: [] }, '/and', /`and` takes at least 1 operands, not 0/],
  [{ '>': [3, 2, 1] }, '/>', /`>` takes 2 operands, not 3/],
  [{ '<': [3] }, '/<', /`<` takes 2 to 3 operands, not 1/],
  [{ '!': { '+': [1] } }, '/!/+', /at least 2 operands/],
  [{ '!': { '/': [1, 2, 3] } }, '/!/~1', /`\/` takes 2 operands/],
  [{ if: [true, true] }, '/if', /at least 3 operands/],
  [{ if: [true, true, false, true] }, '/if/3', /for when no condition holds/],
  [{ if: [1, true, false] }, '/if/0', /must be true or false, not a number/],
  [1, '', /a condition must be true or false, not a number/],
  [{ missing: ['x'] }, '', /a condition must be true or false, not a list/],
  [{ if: [true, 1, 2] }, '', /not a number/],
  [{ and: ['x'] }, '/and/0', /an operand of `and` must be true or false, not text/],
  [{ or: { missing: ['x'] } }, '/or', /not a list/],
  [{ '>': [true, 1] }, '/>/0', /must be a number or text, not true or false/],
  [{ '>': [{ '+': [1, 'x'] }, 1] }, '/>/0/+/1', /must be a number, not text/],
  [{ '==': [{ missing: ['x'] }, 1] }, '/==/0', /not a list/],
  [{ '!': { var: [] } }, '/!/var', /1 to 2 operands/],
  [{ '!': { var: '' } }, '/!/var', /a path is text/],
  [{ '!': { var: 'a..b' } }, '/!/var', /a path is text/],
  [{ '!': { var: 7 } }, '/!/var', /a path is text/],
  [{ '!': { var: [{ var: 'x' }] } }, '/!/var/0', /a path is text/],
  [{ '!': { var: ['x', { var: 'y' }] } }, '/!/var/1', /a default is/],
  [{ '!': { var: ['x', null] } }, '/!/var/1', /a default is/],
  [{ '!': { var: ['x', [1]] } }, '/!/var/1', /a default is/],
  [{ '!': { missing: [1] } }, '/!/missing/0', /a path is text/],
  [{ '!': { missing_some: [0, ['x']] } }, '/!/missing_some/0', /whole number from 1/],
  [{ '!': { missing_some: [1.5, ['x', 'y']] } }, '/!/missing_some/0', /whole number from 1/],
  [{ '!': { missing_some: [2, ['x']] } }, '/!/missing_some/1', /a list of 2 paths/],
  [{ '!': { missing_some: [1, 'x'] } }, '/!/missing_some/1', /a list of 1 paths/],
  [{ '!': { missing_some: [1, ['x', 7]] } }, '/!/missing_some/1', /a path is text/],
  [{ in: [1, [{ var: 'x' }]] }, '/in/1', /holds text, numbers, true and false alone/],
  [{ in: [{ missing: ['x'] }, [1]] }, '/in/0', /not a list/],
  [{ in: ['x', 7] }, '/in/1', /must be text or a list, not a number/],
  [{ some: [[1, 2], true] }, '/some/0', /this is no expression/],
  [{ some: ['x', true] }, '/some/0', /must be a list, not text/],
  [{ some: [{ var: 'x' }, 1] }, '/some/1', /must be true or false, not a number/],
]

test.each(refused)('%j is refused at %s [H-35]', (when, pointer, message) => {
  assert.throws(() => compileCondition(when), { code: 'policy.invalid', data: { pointer }, message })
  const there = { pointer: `/rules/3/when${pointer}` }
  assert.throws(() => compileCondition(when, { pointer: '/rules/3/when' }), { data: there })
})

test('what JSON cannot hold is no condition either [H-35]', () => {
  for (const when of [undefined, Number.NaN, 1n, () => true, { '==': [1, undefined] }, { '!': undefined }])
    assert.throws(() => compileCondition(when as Json), { code: 'policy.invalid' })
})

test('a condition reads no root but those that are allowed, and help names them [H-35]', () => {
  const roots = ['context', 'now']
  assert.deepEqual(compileCondition({ '!': { var: 'now' } }, { roots }).reads, ['now'])
  assert.throws(() => compileCondition({ '!': { var: 'payload.x' } }, { roots }), {
    message: '`payload` is no fact that a rule reads',
    help: 'rules read context, now',
  })
  assert.throws(() => compileCondition({ '!': { missing: ['nowhere'] } }, { roots }), /`nowhere` is no fact/)
  compileCondition({ some: [{ var: 'context.rows' }, { '!': { var: 'payload' } }] }, { roots })
})

test('a condition has a bounded depth and a bounded size [H-35]', () => {
  const deep = (levels: number): Json => (levels === 0 ? true : { '!': deep(levels - 1) })
  const wide = (parts: number): Json => ({ and: Array.from({ length: parts - 1 }, () => true) })
  compileCondition(deep(limits.conditionDepthMax))
  compileCondition(wide(limits.conditionPartsMax))
  assert.throws(() => compileCondition(deep(limits.conditionDepthMax + 1)), {
    code: 'policy.invalid',
    message: /32 levels/,
  })
  assert.throws(() => compileCondition(wide(limits.conditionPartsMax + 1)), {
    code: 'policy.invalid',
    message: /1000 parts/,
  })
})

test('conditions agree with the slow reference on facts of every kind [H-35]', () => {
  fc.assert(
    fc.property(conditions(), fc.oneof(facts, wildFacts), (when, given) => {
      assert.equal(verdict(when, given), referenceVerdict(when, given))
    }),
    { numRuns: 5_000 },
  )
})

test('a condition that never asks whether a fact is there keeps its answer when more facts are known [H-35]', () => {
  fc.assert(
    fc.property(conditions({ typed: true, trusting: true }), facts, wholeFacts, (when, some, whole) => {
      const before = verdict(when, some)
      if (before === 'undecided' || before === 'error') return
      const all = { ...whole, ...some, context: { ...(whole['context'] as Facts), ...(some['context'] as Facts) } }
      assert.notEqual(verdict(when, all), before === 'true' ? 'false' : 'true')
    }),
    { numRuns: 2_000 },
  )
})

const engine = new LogicEngine()
const outcome = (when: Json, given: Json): Json => {
  try {
    return engine.run(when, given) as Json
  } catch {
    return 'throws'
  }
}

test('over facts that are all there and of the right kinds JsonLogic says the same [H-35]', () => {
  let decided = 0
  fc.assert(
    fc.property(conditions({ typed: true }), wholeFacts, (when, given) => {
      const ours = verdict(when, given)
      // What is left is a division by zero, where the engine throws, or not, depending on the operator.
      if (ours === 'error' || ours === 'undecided') return
      decided++
      assert.equal(String(outcome(when, given)), ours)
    }),
    { numRuns: 3_000 },
  )
  assert(decided > 2_000, `only ${decided} were decided`)
})

/** Where the engine of the public language answers otherwise: what it says, and what we say. */
const differences: readonly (readonly [when: Json, theirs: Json, ours: string])[] = [
  [{ '==': [fact('digits'), 2] }, true, 'false'],
  [{ '!=': [fact('digits'), 2] }, false, 'true'],
  [{ '==': [fact('flag'), 1] }, true, 'false'],
  [{ '>': [fact('digits'), 1] }, true, 'error'],
  [{ '>': [fact('flag'), 0] }, true, 'error'],
  [{ '>': [fact('gone'), 0] }, false, 'undecided'],
  [{ '<': [fact('gone'), 1] }, true, 'undecided'],
  [{ '!': { '>': [fact('gone'), 0] } }, true, 'undecided'],
  [{ '!=': [fact('gone'), 'x'] }, true, 'undecided'],
  [{ in: [fact('gone'), ['x']] }, false, 'undecided'],
  [{ some: [fact('gone'), true] }, false, 'undecided'],
  [{ none: [fact('gone'), true] }, true, 'undecided'],
  [{ and: [true, fact('word')] }, 'ab', 'error'],
  [{ or: [false, fact('count')] }, 2, 'error'],
  [{ if: [fact('word'), true, false] }, true, 'error'],
  [{ '==': [{ '+': [fact('digits'), 1] }, 3] }, true, 'error'],
  [{ '!!': fact('blank') }, false, 'true'],
  [{ in: ['', ''] }, false, 'true'],
  [{ '!!': { var: 'toString.name' } }, true, 'false'],
  [{ '!!': { var: 'context.list.length' } }, true, 'false'],
  [{ '!': { missing: ['context.nothing'] } }, true, 'false'],
]

test.each(differences)('%j is %j to the public engine and %s here [H-35]', (when, theirs, ours) => {
  assert.deepEqual(outcome(when, { context }), theirs)
  assert.equal(verdict(when), ours)
})
