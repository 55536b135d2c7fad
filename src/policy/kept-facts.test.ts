import assert from 'node:assert/strict'
import { test } from 'vitest'
import { limits } from '../base/limits.ts'
import { type Facts, Fault, undecided, type Value } from './conditions/values.ts'
import { type KeptFact, keptFactsOf, valuesOf } from './history.ts'

const pathsOf = (...reads: string[]) => keptFactsOf(reads).map(({ path }) => path)
const kept = (facts: Facts, ...reads: string[]) => valuesOf(keptFactsOf(reads), facts)
const history = ['calls', 'capabilities', 'classes', 'origins', 'truncated'].map((name) => `history.${name}`)
const reading = (path: string, value: Value): KeptFact => ({ path, read: () => value })

test('of what rules read, the facts of the capability are put on record, and of the history all [H-49 H-98]', () => {
  const elsewhere = ['context.minutes', 'subject.roles', 'purpose', 'now', 'histories.calls', '']
  assert.deepEqual(pathsOf(...elsewhere), [])
  assert.deepEqual(pathsOf('history.calls', ...elsewhere, 'capability.risk'), ['capability.risk', ...history])
})

test('the id and the version of a capability are on record already; members of such names elsewhere are not [H-49]', () => {
  assert.deepEqual(pathsOf('capability.id', 'capability.version', 'capability.id.x'), [])
  assert.deepEqual(
    pathsOf('history.id', 'history.version', 'capability.ids'),
    ['capability.ids', 'history.id', 'history.version', ...history].sort(),
  )
})

test('a root without a member names no fact [H-49]', () => {
  assert.deepEqual(pathsOf('history', 'capability'), [])
})

test('facts are kept by member, each once and in one order, however deep the rules read [H-49]', () => {
  const reads = ['history.origins.0', 'history.classes', 'history.origins', 'capability.tags.0', 'history.origins.1']
  assert.deepEqual(pathsOf(...reads), ['capability.tags', ...history])
  assert.deepEqual(pathsOf(...reads.toReversed()), pathsOf(...reads))
  const known = { calls: 2, capabilities: ['a'], classes: [], origins: ['web', 'internal'], truncated: false }
  assert.deepEqual(kept({ history: known, capability: { tags: ['x'] } }, ...reads), {
    'capability.tags': ['x'],
    ...Object.fromEntries(Object.entries(known).map(([name, value]) => [`history.${name}`, value])),
  })
})

test('values that say no are values, and what is absent is on record as such [H-49]', () => {
  const capability = { risk: 0, tags: false, origin: '', network: null }
  const reads = ['risk', 'tags', 'origin', 'network', 'gone'].map((name) => `capability.${name}`)
  assert.deepEqual(kept({ capability }, ...reads), {
    'capability.risk': 0,
    'capability.tags': false,
    'capability.origin': '',
    'capability.network': null,
    'capability.gone': null,
  })
})

test('an answer that is left open is left out, a list that grew too long is marked, and the rest is kept [H-49 H-98]', () => {
  const facts = [reading('a', undecided), reading('b', new Fault('too many')), reading('c', 1), reading('d', undefined)]
  assert.deepEqual(valuesOf(facts, {}), { b: { truncated: true }, c: 1, d: null })
})

test('a fact as long as the record takes is kept whole, and a longer one is left out [H-49]', () => {
  // As JSON a text has two quotation marks more.
  const longest = 'x'.repeat(limits.recordedFactCharsMax - 2)
  const facts = (risk: string) => ({ capability: { risk, tags: 1 } })
  const reads = ['capability.risk', 'capability.tags']
  assert.deepEqual(kept(facts(longest), ...reads), { 'capability.risk': longest, 'capability.tags': 1 })
  assert.deepEqual(kept(facts(`${longest}x`), ...reads), { 'capability.tags': 1 })
})

test('where there is nothing to put on record nothing is put there [H-49]', () => {
  assert.equal(kept({ history: { calls: 1 } }), undefined)
  assert.equal(kept({ context: { minutes: 1 } }, 'context.minutes'), undefined)
  assert.equal(valuesOf([reading('a', undecided)], {}), undefined)
})
