import assert from 'node:assert/strict'
import { test } from 'vitest'
import { sameJson } from './json.ts'

test('two JSON values are the same when their members are, in whatever order [F-09]', () => {
  const same: [unknown, unknown][] = [
    [
      { a: 1, b: [1, { c: null }] },
      { b: [1, { c: null }], a: 1 },
    ],
    [[], []],
    [{}, {}],
    [null, null],
    ['x', 'x'],
  ]
  const different: [unknown, unknown][] = [
    [{ a: 1 }, { a: 2 }],
    [{ a: null }, {}],
    [{}, { a: undefined }],
    [{ a: 1 }, { b: 1 }],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], [1, 2]],
    [[], {}],
    [{}, []],
    [null, {}],
    [{}, null],
    [0, '0'],
    [{ toString: 1 }, { a: 1 }],
  ]
  for (const [a, b] of same) assert.equal(sameJson(a, b), true)
  for (const [a, b] of different) assert.equal(sameJson(a, b), false, JSON.stringify([a, b]))
})
