import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { divide, paragraphs } from './divide.ts'
import { estimateTokens } from './estimate.ts'

const pieces = (text: string, tokensMax: number): readonly string[] =>
  divide(text, tokensMax).map(({ from, to }) => text.slice(from, to))

test('the estimate is bytes by 3.5, rounded up, so that it does not undercount scripts without blanks [K-76]', () => {
  assert.deepEqual(['', 'a', 'abcd', '漢字', 'é'].map(estimateTokens), [0, 1, 2, 2, 1])
})

test('a text is cut between paragraphs first, then between sentences, then between words [K-58 K-76]', () => {
  assert.deepEqual(pieces('aaaa bbbb.\n\ncccc dddd.\n\neeee ffff.', 8), ['aaaa bbbb.\n\ncccc dddd.\n\n', 'eeee ffff.'])
  assert.deepEqual(pieces('One is here. Two is there! Three?\n\nx', 4), [
    'One is here. ',
    'Two is there! ',
    'Three?\n\n',
    'x',
  ])
  assert.deepEqual(pieces('一二三四五。六七八九十。', 6), ['一二三四五。', '六七八九十。'])
  assert.deepEqual(pieces('aaaaaa bbbbbb cccccc', 4), ['aaaaaa bbbbbb ', 'cccccc'])
})

test('the pieces together are the text, none exceeds the limit, and no character is cut [K-58 K-76]', () => {
  const unit = fc.constantFrom('word', ' ', '. ', '\n\n', '\n', '漢', '𠀀', '。', 'x'.repeat(90), '\r\n')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 80 }), fc.integer({ min: 40, max: 120 }), (text, tokensMax) => {
      const parts = pieces(text, tokensMax)
      assert.equal(parts.join(''), text)
      for (const part of parts) {
        assert(estimateTokens(part) <= tokensMax)
        assert(part.isWellFormed())
      }
    }),
  )
})

test('paragraphs keep the blank lines behind them [K-76]', () => {
  const text = '\n\na\nb\n \n\nc\n'
  assert.deepEqual(
    [...paragraphs(text)].map(({ from, to }) => text.slice(from, to)),
    ['\n\n', 'a\nb\n \n\n', 'c\n'],
  )
})

test('a megabyte without a place to cut is cut all the same [K-76]', () => {
  for (const piece of ['a', '漢', '.', ' ', '. ', '\n']) assert(divide(piece.repeat(1_000_000), 400).length > 100)
})
