import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { limits } from '../base/limits.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { PolicyDecision } from '../model/evidence.ts'
import { Fault } from './conditions/values.ts'
import { decide } from './decide.ts'
import { type History, historyFacts, noHistory, type Remembered, rememberedOf, withCall } from './history.ts'
import { compilePolicies } from './policies.ts'

const described = (more: Partial<CapabilityDescriptor> = {}): CapabilityDescriptor => ({
  id: 'ward.patients',
  version: '1.0.0',
  description: 'reads',
  modes: ['sync'],
  emits: [],
  ...more,
})
const after = (...calls: readonly Remembered[]): History => calls.reduce(withCall, noHistory)
const call = (capability: string, dataClass?: string, origin = 'internal'): Remembered => ({
  capability,
  class: dataClass,
  origin,
})

test('a history with nothing in it yet has no calls, no entries and nothing left out [H-98]', () => {
  const empty = { calls: 0, capabilities: [], classes: [], origins: [] }
  assert.deepEqual(noHistory, { ...empty, truncated: [] })
  assert.deepEqual(historyFacts(noHistory), { ...empty, truncated: false })
})

test('a call is remembered with the class of its results in small letters, and where they come from [H-98]', () => {
  const policy = { data_classification: 'Confidential' }
  assert.deepEqual(
    rememberedOf(described({ policy, metadata: { origin: 'mcp:Ward' } })),
    call('ward.patients', 'confidential', 'mcp:Ward'),
  )
})

test('results come from inside and have no class unless their capability says so [H-98]', () => {
  const plain = call('ward.patients')
  assert.deepEqual(rememberedOf(described()), plain)
  assert.deepEqual(rememberedOf(described({ policy: {}, metadata: {} })), plain)
})

test('each call counts, and each capability, class and origin is listed once, as it came [H-98]', () => {
  const history = after(call('b', 'secret', 'web'), call('a'), call('b', 'public', 'web'), call('a', 'secret'))
  assert.deepEqual(history, {
    calls: 4,
    capabilities: ['b', 'a'],
    classes: ['secret', 'public'],
    origins: ['web', 'internal'],
    truncated: [],
  })
  assert.deepEqual(historyFacts(history), { ...history, truncated: false })
})

test('a call leaves the history before it as it was [H-98]', () => {
  const before = after(call('a', 'secret', 'web'))
  withCall(before, call('b', 'public'))
  assert.deepEqual(before, after(call('a', 'secret', 'web')))
})

test('a history knows all that any of its calls was, in whatever order they came [H-98]', () => {
  const word = fc.constantFrom('a', 'b', 'c')
  const calls = fc.array(fc.record({ capability: word, class: fc.option(word, { nil: undefined }), origin: word }))
  fc.assert(
    fc.property(calls, (all) => {
      const history = after(...all)
      assert.equal(history.calls, all.length)
      assert.deepEqual(history.capabilities, [...new Set(all.map((each) => each.capability))])
      assert.deepEqual(history.classes, [...new Set(all.flatMap((each) => each.class ?? []))])
      assert.deepEqual(history.origins, [...new Set(all.map((each) => each.origin))])
    }),
  )
})

type Listed = 'capabilities' | 'classes' | 'origins'
const lists: readonly [Listed, (entry: string) => Remembered][] = [
  ['capabilities', (entry) => call(entry)],
  ['classes', (entry) => call('a', entry)],
  ['origins', (entry) => call('a', undefined, entry)],
]
const entries = Array.from({ length: limits.historyEntriesMax }, (_, index) => `e${index}`)

test.each(lists)(
  'a full list of %s takes no entry more, and says so only when one is left out [H-98]',
  (name, calling) => {
    const full = after(...entries.map(calling))
    assert.deepEqual([full[name], full.truncated], [entries, []])
    const again = withCall(full, calling('e0'))
    assert.deepEqual([again[name], again.truncated, again.calls], [entries, [], full.calls + 1])
    const over = withCall(full, calling('one more'))
    assert.deepEqual([over[name], over.truncated, over.calls], [entries, [name], full.calls + 1])
    const later = [calling('e0'), calling('yet another'), call('b', 'b', 'b')].reduce(withCall, over)
    assert(later.truncated.includes(name))
    assert.equal(new Set(later.truncated).size, later.truncated.length)
    assert.equal(later[name].length, limits.historyEntriesMax)
  },
)

test.each(lists)(
  'once %s are left out rules get no answer of that list, and all of the others [H-98]',
  (name, calling) => {
    const over = after(...entries.map(calling), calling('one more'))
    const { [name]: answer, ...rest } = historyFacts(over) as Record<string, unknown>
    assert(answer instanceof Fault)
    assert.equal(answer.message, `there are more \`history.${name}\` than the 128 that are kept`)
    const { [name]: _, ...others } = over
    assert.deepEqual(rest, { ...others, truncated: true })
  },
)

test('a rule that asks a list with something left out denies, and one that asks another list does not [H-98 H-35]', () => {
  const facts = { history: historyFacts(after(...entries.map((entry) => call(entry)), call('one more', 'public'))) }
  const asking = (path: string): PolicyDecision => {
    const rules = [
      { id: 'any', when: true, decision: 'allow' as const },
      { id: 'asks', when: { in: ['secret', { var: [path, []] }] }, decision: 'deny' as const },
    ]
    return decide(compilePolicies([{ name: 'p', version: '1', applies_to: ['*'], rules }]), 'x.do', facts).decision
  }
  assert.equal(asking('history.capabilities'), 'deny')
  assert.equal(asking('history.classes'), 'allow')
})
