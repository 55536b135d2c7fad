import assert from 'node:assert/strict'
import { test } from 'vitest'
import { limits } from '../base/limits.ts'
import { type KeptFact, keptFactsOf, valuesOf } from './kept-facts.ts'
import { type Facts, Fault, undecided, type Value } from './values.ts'

const pathsOf = (...reads: string[]) => keptFactsOf(reads).map(({ path }) => path)
const kept = (facts: Facts, ...reads: string[]) => valuesOf(keptFactsOf(reads), facts)
const reading = (path: string, value: Value): KeptFact => ({ path, read: () => value })

test('of what rules read, the facts of history and capability are put on record [H-49 H-98]', () => {
  const elsewhere = ['context.minutes', 'subject.roles', 'purpose', 'now', 'histories.calls', '']
  assert.deepEqual(pathsOf(...elsewhere), [])
  assert.deepEqual(pathsOf('history.calls', ...elsewhere, 'capability.risk'), ['capability.risk', 'history.calls'])
})

test('the id and the version of a capability are on record already; members of such names elsewhere are not [H-49]', () => {
  assert.deepEqual(pathsOf('capability.id', 'capability.version', 'capability.id.x'), [])
  assert.deepEqual(pathsOf('history.id', 'history.version', 'capability.ids'), [
    'capability.ids',
    'history.id',
    'history.version',
  ])
})

test('a root without a member names no fact [H-49]', () => {
  assert.deepEqual(pathsOf('history', 'capability'), [])
})

test('facts are kept by member, each once and in one order, however deep the rules read [H-49]', () => {
  const reads = ['history.origins.0', 'history.classes', 'history.origins', 'capability.tags.0', 'history.origins.1']
  assert.deepEqual(pathsOf(...reads), ['capability.tags', 'history.classes', 'history.origins'])
  assert.deepEqual(pathsOf(...reads.toReversed()), pathsOf(...reads))
  const facts = { history: { origins: ['web', 'internal'], classes: [], calls: 2 }, capability: { tags: ['x'] } }
  assert.deepEqual(kept(facts, ...reads), {
    'capability.tags': ['x'],
    'history.classes': [],
    'history.origins': ['web', 'internal'],
  })
})

test('values that say no are values, and what is absent is left out [H-49]', () => {
  const history = { calls: 0, truncated: false, origins: '', classes: null }
  assert.deepEqual(kept({ history }, 'history.calls', 'history.truncated', 'history.origins', 'history.classes'), {
    'history.calls': 0,
    'history.truncated': false,
    'history.origins': '',
  })
})

test('an answer that is left open, or that there is none, is left out, and the rest is kept [H-49 H-98]', () => {
  const facts = [reading('a', undecided), reading('b', new Fault('too many')), reading('c', 1), reading('d', undefined)]
  assert.deepEqual(valuesOf(facts, {}), { c: 1 })
})

test('a fact as long as the record takes is kept whole, and a longer one is left out [H-49]', () => {
  // As JSON a text has two quotation marks more.
  const longest = 'x'.repeat(limits.recordedFactCharsMax - 2)
  const facts = (origins: string) => ({ history: { origins, calls: 1 } })
  const reads = ['history.origins', 'history.calls']
  assert.deepEqual(kept(facts(longest), ...reads), { 'history.calls': 1, 'history.origins': longest })
  assert.deepEqual(kept(facts(`${longest}x`), ...reads), { 'history.calls': 1 })
})

test('where there is nothing to put on record nothing is put there [H-49]', () => {
  assert.equal(kept({ history: { calls: 1 } }), undefined)
  assert.equal(kept({ context: { minutes: 1 } }, 'context.minutes'), undefined)
  assert.equal(kept({}, 'history.calls'), undefined)
})
