import assert from 'node:assert/strict'
import { test } from 'vitest'
import { kept } from './kept.ts'

test('what was worked out is given again for the same facts, and worked out anew for others [K-64]', () => {
  let worked = 0
  const join = kept((list: readonly string[], more: string) => {
    worked++
    return [...list, more].join(' ')
  })
  const list = ['a']
  assert.deepEqual([join(list, 'b'), join(list, 'b'), worked], ['a b', 'a b', 1])
  assert.deepEqual([join(list, 'c'), join(['x'], 'c'), join(list, 'b'), worked], ['a c', 'x c', 'a b', 4])
})
