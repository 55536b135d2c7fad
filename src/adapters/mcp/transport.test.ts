import assert from 'node:assert/strict'
import { afterEach, test, vi } from 'vitest'
import { limits } from '../../base/limits.ts'
import { openFloodGate } from './transport.ts'

const { mcpMessageBytesMax: answerMax, mcpUnaskedBytesPerSecondMax: unaskedMax } = limits
const request = { jsonrpc: '2.0', id: 1, method: 'tools/call' } as const
const answer = { jsonrpc: '2.0', id: 1, result: {} } as const
const notification = { jsonrpc: '2.0', method: 'notifications/message' } as const

const givenGate = () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(5_000)
  return { gate: openFloodGate(), later: () => now.mockReturnValue(6_000) }
}

afterEach(() => vi.restoreAllMocks())

test('unsolicited messages have a budget of bytes for each second [H-90]', () => {
  const { gate, later } = givenGate()
  assert.equal(gate.admitsBytes(unaskedMax), true)
  assert.equal(gate.admitsBytes(1), false)
  later()
  assert.equal(gate.admitsBytes(unaskedMax), true)
})

test('the bytes of an answer that is awaited are not counted, however many are awaited [H-90]', () => {
  const { gate } = givenGate()
  for (let at = 0; at < 40; at++) gate.sent(request)
  for (let at = 0; at < 40; at++) {
    assert.equal(gate.admitsBytes(answerMax), true)
    assert.equal(gate.admits(answer), true)
  }
  assert.equal(gate.admitsBytes(unaskedMax), true)
  assert.equal(gate.admitsBytes(1), false)
})

test('a short answer leaves no budget for unsolicited messages [H-90]', () => {
  const { gate } = givenGate()
  gate.sent(request)
  assert.equal(gate.admitsBytes(10), true)
  assert.equal(gate.admits(answer), true)
  assert.equal(gate.admitsBytes(unaskedMax), true)
  assert.equal(gate.admitsBytes(1), false)
})

test('calls that are never answered gather the bytes of a few answers only [H-90]', () => {
  const { gate } = givenGate()
  for (let at = 0; at < 1_000; at++) gate.sent(request)
  assert.equal(gate.admitsBytes(64 * answerMax + unaskedMax), true)
  assert.equal(gate.admitsBytes(1), false)
})

test('an unreadable message counts as unsolicited, even while an answer is awaited [H-90]', () => {
  const { gate } = givenGate()
  gate.sent(request)
  for (let at = 0; at < limits.mcpMessagesPerSecondMax; at++)
    assert.equal(gate.admits(at % 2 === 0 ? undefined : notification), true)
  assert.equal(gate.admits(undefined), false)
  assert.equal(gate.admits(answer), true)
})
