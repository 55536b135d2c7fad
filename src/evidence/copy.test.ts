import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { copyEvent } from './copy.ts'

const refused = (value: unknown, message: string, pointer = '/at'): void =>
  assert.throws(() => copyEvent({ at: value }), {
    code: 'field.invalid',
    message: `event: ${quote(pointer)} ${message}`,
    data: { pointer },
  })

test('a copy equals what was given and shares nothing with it [F-02]', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }), (value) => {
      fc.pre(!/"__proto__"|\d{16}|e\+/.test(JSON.stringify(value)))
      const given = { value, list: [1, { a: true }], nothing: null }
      const copy = copyEvent(given)
      assert.deepEqual(copy, JSON.parse(JSON.stringify(given)))
      assert.notEqual(copy, given)
      assert.notEqual(copy.list, given.list)
      assert.notEqual(copy.list[1], given.list[1])
    }),
  )
})

test('members that are undefined are left out, as JSON does [F-02]', () => {
  assert.deepEqual(Object.keys(copyEvent({ a: 1, b: undefined })), ['a'])
})

test('what a strict reader would refuse is refused with its place [F-02]', () => {
  refused(Number.NaN, 'is a number beyond 2^53 − 1, or none')
  refused(Number.POSITIVE_INFINITY, 'is a number beyond 2^53 − 1, or none')
  refused(2 ** 53, 'is a number beyond 2^53 − 1, or none')
  refused('\ud800', 'holds a lone surrogate')
  refused(new Date(0), 'is an object with a class')
  refused(() => 1, 'is function, which JSON has not')
  refused(1n, 'is bigint, which JSON has not')
  refused([0, [{ 'a/b~c': Symbol('x') }]], 'is symbol, which JSON has not', '/at/1/0/a~1b~0c')
  refused(JSON.parse('{"__proto__": 1}'), 'is not an allowed member name', '/at/__proto__')
  refused({ '\udc00': 1 }, 'holds a lone surrogate', '/at/\udc00')
})

test('what is allowed stays: fractions, the largest integers, objects without a prototype [F-02]', () => {
  const value = { half: 0.5, most: Number.MAX_SAFE_INTEGER, least: Number.MIN_SAFE_INTEGER, no: false }
  assert.deepEqual(copyEvent(Object.assign(Object.create(null), value)), value)
})

test('minus zero becomes zero, as it will be read [F-02]', () => {
  assert.deepEqual(copyEvent({ at: [-0] }), { at: [0] })
})

test('depth and size are bounded, and so are cycles [F-02]', () => {
  const nested = (depth: number): object => (depth === 0 ? {} : { a: nested(depth - 1) })
  assert.doesNotThrow(() => copyEvent(nested(limits.eventDepthMax - 1)))
  assert.throws(() => copyEvent(nested(limits.eventDepthMax)), /lies deeper than/)
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  assert.throws(() => copyEvent(cycle), /lies deeper than/)
  const branching: unknown[] = []
  branching.push(branching, branching)
  assert.throws(() => copyEvent({ branching }), /lies deeper than|goes beyond/)
  assert.throws(() => copyEvent({ text: 'x'.repeat(limits.eventBytesMax) }), /`\/text` goes beyond/)
  assert.doesNotThrow(() => copyEvent({ text: 'x'.repeat(limits.eventBytesMax - 20) }))
})

test('the whole is called by its name [F-02]', () => {
  assert.throws(() => copyEvent({ a: Number.NaN }, 'the payload'), /^Failure: the payload: `\/a`/)
})

test('numbers, booleans and empty values count, too [F-02]', () => {
  const count = Math.ceil(limits.eventBytesMax / 2)
  for (const value of [1, true, null]) {
    const many = Array.from({ length: count }, () => value)
    assert.throws(() => copyEvent({ many }), /goes beyond/)
  }
})
