import assert from 'node:assert/strict'
import { test } from 'vitest'
import { traceOf } from '../../test/support/knowledge.ts'
import { gapsIn } from './gaps.ts'

const at = (minute: number): string => `2026-05-06T09:${String(minute).padStart(2, '0')}:00.000Z`

test('questions that nothing answered are gaps, those asked most first [K-67]', () => {
  const traces = [
    traceOf({ query_digest: 'a', query: 'once?', at: at(1) }),
    traceOf({ query_digest: 'b', query: 'twice?', at: at(2) }),
    traceOf({ query_digest: 'b', query: 'twice?', at: at(3) }),
    traceOf({ query_digest: 'c', query: 'answered?', at: at(4), outcome: 'answered' }),
  ]
  assert.deepEqual(
    gapsIn(traces).map(({ query, asked, last, nearest }) => [query, asked, last, nearest]),
    [
      ['twice?', 2, at(3), ['user:pumps']],
      ['once?', 1, at(1), ['user:pumps']],
    ],
  )
})

test('so are those that only a stale pack answered, and facts that were missing [K-53 K-67]', () => {
  const stale = traceOf({ query_digest: 'a', outcome: 'only-stale', considered: [] })
  const partly = traceOf({ query_digest: 'b', outcome: 'answered', missing: ['price'] })
  assert.deepEqual(
    gapsIn([stale, partly]).map(({ why, missing }) => [why, missing]),
    [
      ['only-stale', []],
      ['missing', ['price']],
    ],
  )
})

test('a question that is answered by now is no gap, and one that was withheld has no text [K-92]', () => {
  const before = traceOf({ at: at(1) })
  assert.deepEqual(gapsIn([traceOf({ at: at(2), outcome: 'answered' }), before]), [])
  assert.deepEqual(gapsIn([traceOf({ outcome: 'failed' })]), [])
  const { query: _, ...withheld } = before
  assert.deepEqual(Object.hasOwn(gapsIn([withheld])[0] ?? {}, 'query'), false)
})
