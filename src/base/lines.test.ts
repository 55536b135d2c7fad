import assert from 'node:assert/strict'
import fc from 'fast-check'
import { onTestFinished, test, vi } from 'vitest'
import { lineCutter } from './lines.ts'

test('however a text comes in pieces, its lines are the same [H-80]', () => {
  const anyText = fc.string({ unit: fc.constantFrom('a', '\n', '\r', 'é', '𝄞', ' ') })
  fc.assert(
    fc.property(anyText, fc.array(fc.nat(8), { minLength: 1 }), (text, sizes) => {
      const cut = lineCutter(1_000)
      const bytes = Buffer.from(text)
      const lines: string[] = []
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const size = 1 + (sizes[n % sizes.length] ?? 0)
        lines.push(...cut(bytes.subarray(at, at + size)))
        at += size
      }
      assert.deepEqual(lines, text.split('\n').slice(0, -1))
    }),
  )
})

test('a line may have as many bytes as were said, in one piece or in many, and not one more [H-80]', () => {
  for (const pieces of [1, 3]) {
    const take = (bytes: number) => {
      const cut = lineCutter(12)
      const piece = Buffer.alloc(bytes / pieces, 'x')
      for (let n = 0; n < pieces; n++) assert.deepEqual(cut(piece), [])
      return cut(Buffer.from('\nnext\n'))
    }
    assert.deepEqual(take(12), ['x'.repeat(12), 'next'])
    assert.throws(() => take(15), RangeError)
  }
})

test('lines do not add up to one that is too long [H-80]', () => {
  const cut = lineCutter(4)
  assert.deepEqual(cut(Buffer.from('1234\n1234\n12')), ['1234', '1234'])
  assert.deepEqual(cut(Buffer.from('34\n')), ['1234'])
  assert.throws(() => cut(Buffer.from('12345')), RangeError)
})

test('a line that comes byte by byte is whole, and is kept in few pieces [H-80]', () => {
  const concat = vi.spyOn(Buffer, 'concat')
  onTestFinished(() => concat.mockRestore())
  const cut = lineCutter(10_000)
  for (let n = 0; n < 5_000; n++) assert.deepEqual(cut(Buffer.from('x')), [])
  assert.deepEqual(cut(Buffer.from('\n')), ['x'.repeat(5_000)])
  assert(Math.max(...concat.mock.calls.map(([pieces]) => pieces.length)) <= 1_025)
})
