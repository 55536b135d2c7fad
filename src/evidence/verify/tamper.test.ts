import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { test } from 'vitest'
import { copyOf, hostKey, signerOf, storyBundle } from '../../../test/support/evidence.ts'
import { faultOf } from '../../../test/support/evidence-lies.ts'
import { exchanges, pathsOf, set, type Tampering, tamperings } from '../../../test/support/evidence-tamper.ts'
import { withheldMarker } from '../event.ts'
import { withhold } from '../withhold.ts'
import { verifyBundle } from './verify.ts'

const markers = [withheldMarker, { chp_sealed: { ct: 'x' } }]

const bundle = storyBundle()

test('a covered bundle, touched in one place, is good before [H-85 H-86 H-87 F-09]', () => {
  const report = verifyBundle(bundle)
  assert.deepEqual([report.valid, report.covered, report.first], [true, 'yes', null])
})

test('a covered bundle, touched in one place, is rejected, whatever was changed, deleted, doubled or swapped [H-85 H-86 H-87 F-09]', () => {
  const counts = { change: 0, delete: 0, duplicate: 0, swap: 0 }
  const accepted: string[] = []
  for (const tampering of everything(bundle)) {
    counts[tampering.kind]++
    if (verifyBundle(tampering.value).valid) accepted.push(`${tampering.kind} ${tampering.path.join('/')}`)
  }
  const nodes = [...pathsOf(bundle)].length
  console.log(`tamper sweep: ${nodes} nodes, ${JSON.stringify(counts)}, accepted ${accepted.length}`)
  assert.deepEqual(accepted, [])
  assert.equal(counts.delete, nodes)
  assert.equal(counts.duplicate, nodes)
  assert.equal(counts.change > 5 * nodes, true)
  assert.equal(counts.swap > nodes / 2, true)
})

test('a covered bundle, touched in one place, is rejected where a payload is replaced by a marker and nothing else is emptied [H-85 H-86 H-87 F-09]', () => {
  for (const marker of markers) {
    for (const index of bundle.events.keys()) {
      const touched = copyOf(bundle)
      set(touched, ['events', index, 'payload'], marker)
      assert.deepEqual(faultOf(touched)?.startsWith(`coverage /events/${index}/`), true)
    }
  }
})

test('a covered bundle, touched in one place, is rejected without any one or several of the members a bundle may do without [H-85 H-86 H-87 F-09]', () => {
  const optional = ['canonicalization', 'completeness', 'public_key', 'signature', 'host_identity']
  for (let gone = 1; gone < 2 ** optional.length; gone++) {
    const stripped: Record<string, unknown> = { ...bundle }
    for (const [index, name] of optional.entries()) if (gone & (1 << index)) delete stripped[name]
    for (const assurance of ['signed', 'hash-chain']) {
      assert.equal(verifyBundle({ ...stripped, assurance }).valid, false, Object.keys(stripped).join(' '))
    }
  }
})

test('a bundle with one payload withheld, touched in a second place, is rejected or tells nothing of what was touched [H-85 H-86 F-09]', () => {
  for (const marker of markers) {
    for (const index of bundle.events.keys()) {
      const hidden = withhold(bundle, ({ sequence }) => sequence === 41 + index)
      set(hidden, ['events', index, 'payload'], marker)
      const before = verifyBundle(hidden)
      assert.deepEqual([before.valid, before.covered, before.story[index]?.covered], [true, 'withheld', false])
      for (const { value, kind, path } of tamperings(hidden.events[index])) {
        const touched = { ...hidden, events: hidden.events.with(index, value as never) }
        const report = verifyBundle(touched)
        assert.notEqual(report.covered, 'yes')
        if (!report.valid) continue
        // What is left can be emptied or moved within its gap, and the story is the same.
        assert.deepEqual(report.story, before.story, `${kind} ${index} ${path.join('/')}`)
        assert.deepEqual(report.checks, before.checks, `${kind} ${index} ${path.join('/')}`)
      }
    }
  }
})

test('re-signing with another key is seen by a verifier that pins the right one [H-87]', () => {
  const bundle = storyBundle()
  const mallory = signerOf(66)
  assert.equal(verifyBundle(bundle, { pins: [hostKey.publicKey] }).valid, true)
  assert.equal(verifyBundle(bundle, { pins: [mallory.publicKey] }).first?.check, 'pin')
  assert.equal(verifyBundle(bundle, { pins: [hostKey.keyId] }).first?.check, 'pin')
  assert.equal(verifyBundle(bundle, { pins: [] }).first?.check, 'pin')
})

test('the verifier answers any value at all, and the answer is no [H-85 F-09]', () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  })
  fc.assert(
    fc.property(anything, (value) => assert.equal(verifyBundle(value).valid, false)),
    { numRuns: 500 },
  )
})

test('the verifier answers a good bundle with any value anywhere in it [H-85 F-09]', () => {
  const bundle = storyBundle()
  const paths = [...pathsOf(bundle)]
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.anything({ withBigInt: true, withDate: true }), (path, value) => {
      const touched = copyOf(bundle)
      set(touched, path, value)
      const report = verifyBundle(touched)
      assert.equal(typeof report.valid, 'boolean')
      if (!isDeepStrictEqual(touched, bundle)) assert.notEqual(report.covered, 'yes')
    }),
    { numRuns: 500 },
  )
})

test('the verifier is total: members that throw, go round in circles or hide behind a class are not believed [H-85 F-09]', () => {
  const bundle = storyBundle()
  const throwing = Object.defineProperty({ ...bundle }, 'events', {
    enumerable: true,
    get: () => {
      throw new Error('no')
    },
  })
  const circular: Record<string, unknown> = { ...bundle }
  circular['events'] = [circular]
  const cyclicPayload = copyOf(bundle)
  set(cyclicPayload, ['events', 0, 'payload', 'zone'], cyclicPayload)
  const classPayload = copyOf(bundle)
  set(classPayload, ['events', 0, 'payload', 'zone'], new Date(0))
  for (const value of [throwing, circular, cyclicPayload, classPayload, new Proxy({}, { ownKeys: () => ['a', 'a'] })]) {
    assert.equal(verifyBundle(value).valid, false)
  }
})

test('the verifier is total: a member named `__proto__` is a member like any other [H-85 F-09]', () => {
  const bundle = storyBundle()
  for (const path of ['/subject', '/payload', '/denial', '/correlation', '']) {
    const text = JSON.stringify(bundle)
    const touched = JSON.parse(text)
    const event = touched.events[1]
    const target = path === '' ? event : event[path.slice(1)]
    Object.defineProperty(target, '__proto__', { value: 1, enumerable: true, configurable: true, writable: true })
    assert.equal(verifyBundle(touched).valid, false, path)
  }
})

function* everything(bundle: unknown): Generator<Tampering> {
  yield* tamperings(bundle)
  yield* exchanges(bundle, ['events'])
}
