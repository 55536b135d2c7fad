import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { capabilities, facts, policies } from '../../test/support/policy-arbitrary.ts'
import { batchFacts, capability, qualityRelease, recordedCall } from '../../test/support/policy-example.ts'
import type { Json } from '../base/canonical.ts'
import type { PolicyDecision } from '../model/evidence.ts'
import type { Facts } from './conditions/values.ts'
import { decide } from './decide.ts'
import { explain } from './explain.ts'
import { valuesOf } from './history.ts'
import { compilePolicies } from './policies.ts'
import { shadow } from './shadow.ts'

const release = compilePolicies([qualityRelease])
const setOf = (...rules: readonly (readonly [PolicyDecision, Json])[]) =>
  compilePolicies([
    {
      name: 'p',
      version: '1',
      applies_to: ['x'],
      rules: rules.map(([decision, when], index) => ({ id: `r${index}`, when, decision })),
    },
  ])
const turns = (facts: Facts, ...rules: readonly (readonly [PolicyDecision, Json])[]) =>
  explain(setOf(...rules), 'x', facts).turns

test('an explanation says of every rule what came of it and what it read [H-35 H-17]', () => {
  const { rules, ruling } = explain(release, capability, batchFacts(14, 'shortage'))
  const minutes = { path: 'context.excursion_minutes', value: 14 }
  assert.deepEqual(rules, [
    {
      rule: 'quality_release/routine',
      decision: 'deny',
      enforced: true,
      verdict: 'does_not_hold',
      read: [minutes, { path: 'context.purpose', value: 'shortage' }],
    },
    {
      rule: 'quality_release/excursion',
      decision: 'requires_approval',
      enforced: true,
      verdict: 'holds',
      read: [minutes],
    },
    { rule: 'quality_release/cold', decision: 'allow', enforced: true, verdict: 'does_not_hold', read: [minutes] },
  ])
  assert.equal(ruling.rule, 'quality_release/excursion')
})

test('an explanation names absent facts and what went wrong [H-35]', () => {
  const set = setOf(['deny', { '>': [{ var: 'context.gone' }, 1] }], ['allow', { '>': [{ var: 'context.word' }, 1] }])
  const { rules } = explain(set, 'x', { context: { word: 'a' } })
  assert.deepEqual(
    rules.map(({ verdict, read, message }) => ({ verdict, read, message })),
    [
      { verdict: 'undecided', read: [{ path: 'context.gone' }], message: undefined },
      {
        verdict: 'error',
        read: [{ path: 'context.word', value: 'a' }],
        message: '`>` compares two numbers or two texts',
      },
    ],
  )
})

test('an explanation names what it would need to know of the history, where that could change the answer [H-35 H-98]', () => {
  const many: Json = { '>': [{ var: 'history.calls' }, 1] }
  const read: Json = { in: ['x', { var: 'history.classes' }] }
  const { needs, rules, turns } = explain(setOf(['deny', many], ['deny', read], ['allow', true]), 'x', {
    history: { classes: [] },
  })
  assert.deepEqual([needs, turns], [['history.calls'], []])
  assert.deepEqual(
    rules.map(({ verdict, read, message }) => [verdict, read, message]),
    [
      ['error', [], 'the value of `history.calls` is not known'],
      ['does_not_hold', [{ path: 'history.classes', value: [] }], undefined],
      ['holds', [], undefined],
    ],
  )
  const plain = explain(setOf(['deny', true], ['requires_approval', many]), 'x', {})
  assert.deepEqual([plain.needs, plain.ruling.decision, plain.turns], [[], 'deny', []])
  assert.equal(explain(setOf(['allow', many]), 'x', { history: { calls: 2 } }).ruling.decision, 'allow')
})

test('an explanation proposes the one fact that would change the answer, the mildest answer first [H-35 H-17]', () => {
  assert.deepEqual(explain(release, capability, batchFacts(14, 'shortage')).turns, [
    { path: 'context.excursion_minutes', value: 0, to: 'allow', rule: 'quality_release/cold' },
    { path: 'context.excursion_minutes', value: -1, to: 'deny', rule: null },
    { path: 'context.purpose', value: 'routine', to: 'deny', rule: 'quality_release/routine' },
  ])
})

test('a turn takes the nearest value on the other side of a comparison [H-35]', () => {
  const minutes = { var: 'context.n' }
  const near = (n: number, when: Json) => turns({ context: { n } }, ['allow', when])[0]
  assert.deepEqual(near(0, { '>': [minutes, 10] }), { path: 'context.n', value: 11, to: 'allow', rule: 'p/r0' })
  assert.deepEqual(near(20, { '>': [minutes, 10] }), { path: 'context.n', value: 10, to: 'deny', rule: null })
  assert.deepEqual(near(0, { '>=': [minutes, 10] })?.value, 10)
  assert.deepEqual(near(20, { '<': [minutes, 10] })?.value, 9)
  assert.deepEqual(near(20, { '<=': [5, minutes, 10] })?.value, 10)
  assert.deepEqual(near(7, { '==': [minutes, 3] })?.value, 3)
  assert.deepEqual(near(3, { '!=': [3, minutes] })?.value, 4)
})

test('a turn goes by texts, lists, roles, truth, other facts and absence [H-35]', () => {
  const word = { var: 'context.word' }
  const first = (context: Facts, decision: PolicyDecision, when: Json) => {
    const [turn] = turns({ context }, [decision, when], ['allow', decision !== 'allow'])
    return turn && { ...turn, rule: undefined }
  }
  const to = (decision: PolicyDecision, value?: Json, path = 'context.word') => ({
    path,
    ...(value !== undefined && { value }),
    to: decision,
    rule: undefined,
  })
  assert.deepEqual(first({}, 'allow', { '==': [word, 'b'] }), to('allow', 'b'))
  assert.deepEqual(first({ word: 'a' }, 'allow', { in: [word, ['b', 'c']] }), to('allow', 'b'))
  assert.deepEqual(first({ word: ['x'] }, 'allow', { in: ['b', word] }), to('allow', ['x', 'b']))
  assert.deepEqual(first({ word: ['x', 'b'] }, 'deny', { in: ['b', word] }), to('allow', ['x']))
  assert.deepEqual(first({}, 'allow', { in: [2, word] }), to('allow', [2]))
  assert.deepEqual(first({ word: 'q', other: 'z' }, 'allow', { '==': [word, { var: 'context.other' }] }), {
    ...to('allow', 'q', 'context.other'),
  })
  assert.deepEqual(first({ word: 'q', list: ['z'] }, 'allow', { in: [word, { var: 'context.list' }] }), {
    ...to('allow', ['z', 'q'], 'context.list'),
  })
  assert.deepEqual(first({ word: false }, 'allow', { and: [word, true] }), to('allow', true))
  assert.deepEqual(first({ word: true }, 'deny', word), to('allow', false))
  assert.deepEqual(first({ word: false }, 'allow', { if: [word, true, false] }), to('allow', true))
  assert.deepEqual(first({ word: true }, 'allow', { '==': [word, false] }), to('allow', false))
  assert.deepEqual(first({ word: 'a' }, 'deny', { '!!': word }), to('allow'))
  assert.deepEqual(first({ word: 'a' }, 'allow', { '!': { missing: ['context.word'] } }), to('deny'))
  assert.equal(first({}, 'allow', { '!!': word }), undefined)
})

test('a turn is never the time, nor a place that is not there, and the item of a list is left alone [H-35]', () => {
  assert.deepEqual(turns({ now: '2026' }, ['allow', { '!': { var: 'now' } }]), [])
  assert.deepEqual(turns({ context: 'text' }, ['allow', { '==': [{ var: 'context.a' }, 1] }]), [])
  assert.deepEqual(turns({ context: [1] }, ['allow', { '==': [{ var: 'context.0' }, 2] }]), [])
  assert.deepEqual(turns({ context: null }, ['allow', { '==': [{ var: 'context.a' }, 1] }]).length, 1)
  const some: Json = { some: [{ var: 'context.rows' }, { '==': [{ var: 'n' }, 1] }] }
  assert.deepEqual(turns({ context: { rows: [{ n: 2 }] } }, ['allow', some]), [])
})

test('every turn of every explanation holds when it is tried [H-35]', () => {
  let seen = 0
  fc.assert(
    fc.property(policies({ typed: true }), capabilities, facts, (given, id, known) => {
      const set = compilePolicies(given)
      const { turns, ruling } = explain(set, id, known)
      for (const { path, value, to } of turns) {
        seen++
        assert.notEqual(to, ruling.decision)
        const changed = structuredClone(known) as Record<string, Json>
        assert.equal(decide(set, id, put(changed, path.split('.'), value)).decision, to)
      }
    }),
    { numRuns: 300 },
  )
  assert(seen > 50, `only ${seen}`)
})

function put(here: Record<string, Json>, [name = '', ...rest]: readonly string[], value: Json | undefined): Facts {
  if (rest.length > 0) here[name] = put({ ...(here[name] as Record<string, Json>) }, rest, value) as Json
  else if (value === undefined) delete here[name]
  else here[name] = value
  return here
}

test('what rules read of a run, its user and its agent is explained, and decided again from the record [H-35 H-49]', () => {
  const set = setOf(
    ['allow', { '==': [{ var: 'run.purpose' }, 'restock'] }],
    ['deny', { '==': [{ var: 'user.region' }, 'us'] }],
    ['requires_approval', { '>': [{ var: 'agent.tier' }, 1] }],
  )
  const facts = { run: { purpose: 'restock' }, user: { region: 'eu' }, agent: { tier: 2 } }
  const { rules, ruling } = explain(set, 'x', facts)
  assert.deepEqual(
    rules.map(({ verdict, read }) => [verdict, read]),
    [
      ['does_not_hold', [{ path: 'user.region', value: 'eu' }]],
      ['holds', [{ path: 'agent.tier', value: 2 }]],
      ['holds', [{ path: 'run.purpose', value: 'restock' }]],
    ],
  )
  assert.equal(ruling.decision, 'requires_approval')
  const kept = valuesOf(set.applicable('x').kept, facts)
  assert.deepEqual(kept, { 'run.purpose': 'restock', 'user.region': 'eu', 'agent.tier': 2 })
  const record = { ...recordedCall.record, decision: 'requires_approval' as const, facts: kept }
  const again = (other: typeof set) => shadow(other, { ...recordedCall, capabilityId: 'x', record })
  assert.deepEqual(again(set), { is: 'equal', decision: 'requires_approval' })
  const next = setOf(['allow', { '==': [{ var: 'agent.tier' }, 2] }])
  assert.deepEqual(again(next), { is: 'differs', from: 'requires_approval', to: 'allow', rule: 'p/r0' })
})
