import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openEndings } from './endings.ts'

test('what is known of calls that are over is forgotten after an hour, unless it was said again [H-45]', () => {
  const endings = openEndings()
  endings.add('a', 'done', 0)
  endings.add('b', 'none', 1)
  endings.add('a', 'unknown', 2)
  endings.add('c', 'done', 3_600_001)
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => endings.get(key)),
    ['unknown', undefined, 'done'],
  )
  endings.delete('a')
  assert.equal(endings.get('a'), undefined)
})
