import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { jsonText } from './io.ts'

const drawing = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u

test('JSON for programs has no character in it that a terminal acts on, and is the same value when it is read [F-18]', () => {
  const evil = '\u001b[2J\u007f\u009b31m\u202e\u2066\u200b\u2028\u{e0001}\ufeff\n'
  for (const indent of [undefined, 2]) {
    const text = jsonText({ [evil]: [evil] }, indent)
    assert.doesNotMatch(text, drawing)
    assert.deepEqual(JSON.parse(text), { [evil]: [evil] })
  }
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = jsonText(value, 2)
      assert.doesNotMatch(text, drawing)
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
    }),
  )
})
