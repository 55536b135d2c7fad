import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import {
  type Ceiling,
  type Ceilings,
  ceilingsBelow,
  effectiveMode,
  type HeldResource,
  type ResourceMode,
} from './ceilings.ts'

const provider = { maxMode: 'read-write' } as const
const order: readonly Ceiling[] = ['none', 'read', 'read-write']
const heightOf = (ceiling: Ceiling): number => order.indexOf(ceiling)

test('without a stated mode and a provider default the resource mode is read [G-54]', () => {
  assert.equal(effectiveMode({ kind: 'memory', provider, ceilings: {} }), 'read')
  assert.equal(
    effectiveMode({ kind: 'memory', provider: { ...provider, defaultMode: 'read-write' }, ceilings: {} }),
    'read-write',
  )
  const stated = {
    kind: 'memory',
    declared: 'read',
    provider: { ...provider, defaultMode: 'read-write' },
    ceilings: {},
  } as const
  assert.equal(effectiveMode(stated), 'read')
})

test('the resource mode is the lowest of declared mode, provider maximum and ceiling [G-55]', () => {
  for (const declared of ['read', 'read-write'] as const) {
    for (const maxMode of ['read', 'read-write'] as const) {
      for (const ceiling of order) {
        const mode = effectiveMode({ kind: 'memory', declared, provider: { maxMode }, ceilings: { memory: ceiling } })
        assert.equal(heightOf(mode), Math.min(heightOf(declared), heightOf(maxMode), heightOf(ceiling)))
      }
    }
  }
})

test('a ceiling is about its own kind alone [G-55]', () => {
  const ceilings = { memory: 'none' } as const
  assert.equal(effectiveMode({ kind: 'files', declared: 'read-write', provider, ceilings }), 'read-write')
})

test('kinds named like members of every object have no ceiling by accident, and keep their own [G-56]', () => {
  for (const kind of ['constructor', 'toString', '__proto__']) {
    assert.equal(effectiveMode({ kind, declared: 'read-write', provider, ceilings: {} }), 'read-write')
    const below = ceilingsBelow({}, [{ kind, mode: 'read' }])
    assert.equal(effectiveMode({ kind, declared: 'read-write', provider, ceilings: below }), 'read')
    assert.deepEqual(Object.keys(ceilingsBelow(below, [])), [kind])
  }
})

test('a word that is no ceiling lets nothing through [G-55]', () => {
  const ceilings = { memory: 'write' as Ceiling }
  assert.equal(effectiveMode({ kind: 'memory', declared: 'read-write', provider, ceilings }), 'none')
  assert.deepEqual(ceilingsBelow(ceilings, [{ kind: 'memory', mode: 'read' }]), { memory: 'none' })
})

test('a run hands on what it delegates, at most its own mode, and all of it unless it says less [G-55]', () => {
  const handedOn = (resource: Omit<HeldResource, 'kind'>) =>
    ceilingsBelow({}, [{ kind: 'memory', ...resource }])['memory']
  assert.equal(handedOn({ mode: 'read-write' }), 'read-write')
  assert.equal(handedOn({ mode: 'read-write', delegate: 'read' }), 'read')
  assert.equal(handedOn({ mode: 'read', delegate: 'read-write' }), 'read')
  assert.equal(handedOn({ mode: 'read-write', delegate: 'none' }), 'none')
  assert.equal(handedOn({ mode: 'none', delegate: 'read-write' }), 'none')
})

test('of several resources of one kind the lowest is handed on, in any order [G-56]', () => {
  const resources: HeldResource[] = [
    { kind: 'memory', mode: 'read-write' },
    { kind: 'memory', mode: 'read-write', delegate: 'read' },
    { kind: 'files', mode: 'read-write' },
  ]
  const expected = { memory: 'read', files: 'read-write' }
  assert.deepEqual({ ...ceilingsBelow({}, resources) }, expected)
  assert.deepEqual({ ...ceilingsBelow({}, resources.toReversed()) }, expected)
})

test('ceilings are frozen, and a run that declares nothing hands them on untouched [G-17 G-56]', () => {
  const inherited = { memory: 'read', files: 'none' } as const
  const below = ceilingsBelow(inherited, [])
  assert.deepEqual(below, inherited)
  assert(Object.isFrozen(below))
})

interface Declared {
  readonly kind: string
  readonly declared?: ResourceMode
  readonly delegate?: Ceiling
}

const anyDeclared: fc.Arbitrary<Declared> = fc.record(
  {
    kind: fc.constantFrom('memory', 'files'),
    declared: fc.constantFrom<ResourceMode>('read', 'read-write'),
    delegate: fc.constantFrom(...order),
  },
  { requiredKeys: ['kind'] },
)
const anyLine = fc.array(fc.array(anyDeclared, { maxLength: 3 }), { maxLength: 6 })

test('over any line of runs the mode is the minimum over all ancestors, declared or not in between [G-55 G-56]', () => {
  fc.assert(
    fc.property(anyLine, (line) => {
      let ceilings: Ceilings = {}
      const lowest: Record<string, number> = { memory: 2, files: 2 }
      for (const agent of line) {
        const held = agent.map((one) => ({ ...one, mode: effectiveMode({ ...one, provider, ceilings }) }))
        for (const { kind, mode, declared = 'read' } of held) {
          assert.equal(heightOf(mode), Math.min(heightOf(declared), lowest[kind] ?? 0))
        }
        for (const { kind, declared = 'read', delegate = declared } of agent) {
          lowest[kind] = Math.min(lowest[kind] ?? 0, heightOf(declared), heightOf(delegate))
        }
        const before = ceilings
        ceilings = ceilingsBelow(ceilings, held)
        for (const kind of Object.keys(before)) {
          assert(heightOf(ceilings[kind] ?? 'read-write') <= heightOf(before[kind] ?? 'none'), kind)
        }
      }
    }),
  )
})
