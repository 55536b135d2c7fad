import assert from 'node:assert/strict'
import { test } from 'vitest'
import { countingIds, fakeClock } from './index.ts'

test('a fake clock stands still until it is moved [F-04]', () => {
  const clock = fakeClock(1000)
  assert.deepEqual([clock.now(), clock.now()], [1000, 1000])
  clock.advance(5)
  clock.advance(-10)
  assert.equal(clock.now(), 995)
})

test('counting ids are the same in every run, sort in order, and count each prefix by itself [F-04]', () => {
  const ids = countingIds()
  const events = Array.from({ length: 12 }, () => ids.next('evt'))
  assert.equal(events[0], 'evt_0000000001')
  assert.deepEqual(events, events.toSorted())
  assert.equal(ids.next('inv'), 'inv_0000000001')
})
