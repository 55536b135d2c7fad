import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { ApprovalRequest } from '../../model/approval.ts'
import { argumentsOf } from './approval-card.ts'

const lineOf = (...shown: ApprovalRequest['shown']) => argumentsOf({ shown } as ApprovalRequest)

test('the arguments of a call stand on one line, a field that is a member of the payload once [H-59]', () => {
  assert.equal(lineOf(), '–')
  const minutes = { name: 'minutes', value: 14 }
  const members = [
    { name: 'payload:/minutes', value: 14 },
    { name: 'payload:/to', value: ['a', null] },
    { name: 'payload:/größe-2.x', value: 'b' },
  ]
  assert.equal(lineOf(minutes, ...members), 'minutes=14 to=["a",null] größe-2.x="b"')
})

test('on that line no name is taken for another argument, or for a field of the contract [H-59]', () => {
  const forged = { name: 'payload:/to="alice" note', value: 'x' }
  assert.equal(
    lineOf(forged, { name: 'payload:/to', value: 'mallory' }),
    String.raw`"to=\"alice\" note"="x" to="mallory"`,
  )
  assert.equal(lineOf({ name: 'payload:/', value: 1 }, { name: 'payload:/a b', value: 2 }), '""=1 "a b"=2')
  assert.equal(
    lineOf({ name: 'risk', value: 'high' }, { name: 'payload:/risk', value: 'low' }),
    'risk="high" payload:/risk="low"',
  )
})

test('on that line no argument goes without its value, whatever the others are called [H-59]', () => {
  const shown = [
    { name: 'to', value: 'a' },
    { name: 'payload:/payload:/to', value: 'b' },
    { name: 'payload:/to', value: 'c' },
  ]
  assert.equal(lineOf(...shown), 'to="a" payload:/to="b" payload:/to="c"')
})
