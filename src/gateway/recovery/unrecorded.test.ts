import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openUnrecorded } from './unrecorded.ts'

test('what is known of calls that are over is forgotten after an hour, except while they are open on record [H-45]', () => {
  const unwritten = openUnrecorded()
  const over = { effect: 'done', began: true } as const
  for (const [key, at] of Object.entries({ a: 0, b: 0, c: 1 })) unwritten.add(key, over, at)
  unwritten.prune(new Set(['b']), 3_600_000)
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => unwritten.get(key)),
    [undefined, over, over],
  )
  unwritten.delete('b')
  assert.equal(unwritten.get('b'), undefined)
})
