import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { costMicroCents } from './price.ts'

test('a turn costs its tokens at the price for a million, in whole micro-cents, rounded up [F-26]', () => {
  const usage = { inputTokens: 1_000, outputTokens: 200 }
  assert.equal(costMicroCents(usage, { input: '25', output: 125 }), 50_000)
  assert.equal(costMicroCents(usage, { input: 0.25, output: '1.25' }), 500)
  assert.equal(costMicroCents({ inputTokens: 1, outputTokens: 0 }, { input: '0.000001', output: 0 }), 1)
  assert.equal(costMicroCents({ inputTokens: 0, outputTokens: 0 }, { input: 5, output: 5 }), 0)
})

test('the cost agrees with exact arithmetic, however large [F-26]', () => {
  const count = fc.nat(100_000_000)
  const cents = fc.nat(999_999)
  fc.assert(
    fc.property(count, count, cents, cents, (inputTokens, outputTokens, input, output) => {
      const exact = BigInt(inputTokens) * BigInt(input) + BigInt(outputTokens) * BigInt(output)
      assert.equal(costMicroCents({ inputTokens, outputTokens }, { input, output: `${output}.0` }), Number(exact))
    }),
  )
})

test('without a price, or where a provider did not count, the cost is not known [F-26]', () => {
  const price = { input: 1, output: 1 }
  assert.equal(costMicroCents({ inputTokens: 1, outputTokens: 1 }), undefined)
  assert.equal(costMicroCents({ inputTokens: 1 }, price), undefined)
  assert.equal(costMicroCents({ outputTokens: 1 }, price), undefined)
})
