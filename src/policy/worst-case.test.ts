import assert from 'node:assert/strict'
import { test } from 'vitest'
import { limits } from '../base/limits.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import { timeoutMsOf, worstCase } from './budgets.ts'

const declaring = (more: Partial<CapabilityDescriptor>): CapabilityDescriptor => ({
  id: 'shop.pay',
  version: '1.0.0',
  description: 'pays',
  modes: ['sync'],
  emits: [],
  ...more,
})

test('a call that declares nothing may take the default time and the largest result, and costs nothing [H-99]', () => {
  const most = { calls: 1, time_ms: 30_000, cost: 0, bytes: limits.eventBytesMax }
  assert.deepEqual(worstCase(declaring({})), most)
  assert.deepEqual(worstCase(declaring({ metadata: {} })), most)
  assert.deepEqual(worstCase(declaring({ metadata: { autonomy: {}, worst_case: {} } })), most)
})

test('a call may take what its capability declares, one call at a time [H-99]', () => {
  const metadata = { worst_case: { cost: '2.5', bytes: 100 } }
  assert.deepEqual(worstCase(declaring({ timeout_s: 2, metadata })), {
    calls: 1,
    time_ms: 2000,
    cost: 2_500_000,
    bytes: 100,
  })
})

test('what a capability spends is what it costs, unless it declares its cost, be it nothing [H-99]', () => {
  const costOf = (metadata: NonNullable<CapabilityDescriptor['metadata']>) => worstCase(declaring({ metadata })).cost
  assert.equal(costOf({ autonomy: { spend_units: 4 } }), 4_000_000)
  assert.equal(costOf({ autonomy: { spend_units: 4 }, worst_case: { bytes: 1 } }), 4_000_000)
  assert.equal(costOf({ autonomy: { spend_units: 4 }, worst_case: { cost: '0.5' } }), 500_000)
  assert.equal(costOf({ autonomy: { spend_units: 4 }, worst_case: { cost: 0 } }), 0)
})

test('a cost finer than can be counted is reserved as the next millionth above [H-99]', () => {
  assert.equal(worstCase(declaring({ metadata: { worst_case: { cost: '0.0000001' } } })).cost, 1)
})

test.each([
  [undefined, 30_000],
  [0.25, 250],
  [2.007, 2_007],
  [1e-9, 1],
  [0.0001, 1],
  [45, 45_000],
  [3_600, 3_600_000],
  [3_600.001, 3_600_000],
  [1e9, 3_600_000],
])('a handler that declares %s seconds is cut off after %i ms, and that time is reserved [H-99]', (timeout_s, ms) => {
  const descriptor = declaring(timeout_s === undefined ? {} : { timeout_s })
  assert.equal(timeoutMsOf(descriptor), ms)
  assert.equal(worstCase(descriptor).time_ms, ms)
})
