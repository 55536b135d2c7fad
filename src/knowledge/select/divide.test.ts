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

test('a code fence stays whole while it fits, and is cut between its lines where it does not [K-58 K-76]', () => {
  const code = '```sh\nrun a. b\n\n\nrun c. d\n```\n'
  assert.deepEqual(pieces(`Some words here.\n\n${code}\nMore words here.`, 12), [
    'Some words here.\n\n',
    `${code}\n`,
    'More words here.',
  ])
  assert.deepEqual(pieces(`Some words stand above it:\n${code}More words.`, 12), [
    'Some words stand above it:\n',
    code,
    'More words.',
  ])
  assert.deepEqual(pieces(code, 7), ['```sh\nrun a. b\n\n\n', 'run c. d\n```\n'])
  assert.deepEqual(pieces(`${code}${code}`, 12), [code, code])
})

test('the pieces together are the text, none exceeds the limit, and no character is cut [K-58 K-76]', () => {
  const unit = fc.constantFrom(
    'word',
    ' ',
    '. ',
    '\n\n',
    '\n',
    '漢',
    '𠀀',
    '。',
    'x'.repeat(90),
    '\r\n',
    '\n```\n',
    '\n~~~\n',
  )
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
  const fenced = 'a\n\n~~~\nb\n\nc\n~~~\n\nd'
  assert.deepEqual(
    [...paragraphs(fenced)].map(({ from, to }) => fenced.slice(from, to)),
    ['a\n\n', '~~~\nb\n\nc\n~~~\n\n', 'd'],
  )
})

test('a megabyte without a place to cut is cut all the same [K-76]', () => {
  for (const piece of ['a', '漢', '.', ' ', '. ', '\n', '```\n', '~~~\na\n'])
    assert(divide(piece.repeat(1_000_000), 400).length > 100)
})
