import assert from 'node:assert/strict'
import { test } from 'vitest'
import { countingIds } from '../testing/ports.ts'
import { randomIds } from './system.ts'

test('ids of runs and memory entries sort by time, and none comes twice, however many a millisecond has [F-04]', () => {
  let now = 1_000
  const ids = randomIds({ now: () => now })
  const made = Array.from({ length: 150_000 }, () => ids.next('run'))
  now = 900
  made.push(ids.next('run'), ids.next('run'))
  assert.deepEqual(made.toSorted(), made)
  assert.equal(new Set(made).size, made.length)
  assert.match(ids.next('mem'), /^mem_[0-9a-f]{16}$/)
  now = 50_000
  assert.equal(Number.parseInt(ids.next('run').slice(4, 16), 16), 50_000)
  assert.equal(countingIds().next('run'), 'run_0000000000000001')
})
