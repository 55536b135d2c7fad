import assert from 'node:assert/strict'
import { test } from 'vitest'
import { callKey, idempotencyKeyOf } from './call.ts'

const deps = { digest: (parts: readonly string[]) => parts.join('|') }
const keyOf = (id: string, caller = 'principal:ada') => idempotencyKeyOf(deps, callKey(id) + callKey(caller))

test('a call of a run that is made again is the same to an upstream, and no other call is [F-14]', () => {
  const first = 'tool_01a1f46ea67a5cdct0c0'
  for (const again of ['r1', 'r2', 'r3']) assert.equal(keyOf(first + again), keyOf(first))
  const others = [
    first,
    'tool_01a1f46ea67a5cdct0c1',
    'tool_01a1f46ea67a5cddt0c0',
    'inv_1',
    'inv_1r1',
    'tool_xr1',
    `${first}r1x`,
  ]
  assert.equal(new Set(others.map((id) => keyOf(id))).size, others.length)
  assert.notEqual(keyOf(`${first}r1`, 'principal:eve'), keyOf(first))
})
