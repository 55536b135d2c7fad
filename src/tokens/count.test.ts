import assert from 'node:assert/strict'
import { countTokens as direct } from 'gpt-tokenizer/encoding/o200k_base'
import { test } from 'vitest'
import { countTokens, makeTokenCounter } from './count.ts'

const words = 'The quick brown fox, who was thirty-two years old in 1984, doesn’t jump; it WALKS around the "lazy" dog.'
const chinese = '系统在处理请求之前必须先检查权限，然后才会执行操作。如果没有权限，请求会被拒绝，并且写入证据链。'
const code = 'export const add = (a: number, b: number): number => {\n\treturn a + b // ok\n}\n\n'
const base64 = Buffer.from('nothing secret, only bytes '.repeat(7)).toString('base64')
const ordinary: Readonly<Record<string, string>> = {
  nothing: '',
  English: words,
  'a long English text': `${words}\n\n`.repeat(100),
  Chinese: chinese,
  'a long Chinese text': chinese.repeat(100),
  code,
  'a long program': code.repeat(100),
  emoji: '👩‍👩‍👧 says 👋🏽 and 🏳️‍🌈',
  base64,
  'long base64': Buffer.from(Array.from({ length: 6_000 }, (_, index) => (index * 7919) % 251)).toString('base64'),
  JSON: JSON.stringify({ id: 'run_0123456789abcdef', list: [1, 2.5, null, true], text: words }, null, 2).repeat(20),
  Markdown: '| a | b |\n| --- | --- |\n\n## Title\n\n- item `x` **y** <z>\n\n---\n'.repeat(50),
  'Arabic, Thai and combining marks': 'مرحبا بالعالم، ภาษาไทยไม่มีช่องว่าง नमस्ते é',
}

test('ordinary texts have exactly the count of the tokenizer [F-08]', () => {
  for (const [title, text] of Object.entries(ordinary)) assert.equal(countTokens(text), direct(text), title)
  assert.equal(countTokens('hello world'), 2)
})

test('control tokens count as the text they are [F-08]', () => {
  for (const token of ['<|endoftext|>', '<|im_start|>', '<|endofprompt|>', '<|fim_prefix|>']) {
    const text = `before ${token} after`
    assert(countTokens(text) > countTokens('before  after') + 2)
    assert.equal(countTokens(text), direct(text, { disallowedSpecial: new Set() }))
  }
  assert(countTokens('<|endoftext|>'.repeat(1_000)) > 1_000)
})

test('a run longer than 256 characters is counted in pieces of 256 [F-08]', () => {
  for (const [char, repeats] of [
    ['a', 1_000],
    ['字', 1_000],
    ['!', 1_000],
    [' ', 1_000],
    ['\n', 1_000],
    ['a\u0301', 500],
  ] as const) {
    const text = char.repeat(repeats)
    const inPieces = [0, 256, 512, 768].map((at) => direct(text.slice(at, at + 256)))
    assert.equal(
      countTokens(text),
      inPieces.reduce((sum, tokens) => sum + tokens),
      JSON.stringify(char),
    )
    assert.equal(countTokens(text.slice(0, 256)), direct(text.slice(0, 256)))
    assert.equal(
      countTokens(`1${text}1`),
      inPieces.slice(1, 3).reduce((sum, tokens) => sum + tokens, ends(text)),
    )
  }
})

const ends = (text: string): number => direct(`1${text.slice(0, 256)}`) + direct(`${text.slice(768)}1`)

test('a surrogate pair is never divided [F-08]', () => {
  for (const [before, pair, after] of [
    ['x', '𝐚', 'y'],
    ['ab', '𐐨', 'cd'],
  ] as const) {
    const first = before.repeat(256).slice(0, 255)
    const second = pair + after.repeat(256).slice(0, 254)
    assert.equal(countTokens(first + second + after), direct(first) + direct(second) + direct(after))
  }
  const pairs = '𠀀'.repeat(1_000)
  assert.equal(countTokens(pairs), direct(pairs.slice(0, 256)) * 7 + direct(pairs.slice(256 * 7)))
})

test('hostile runs end [F-08]', () => {
  for (const piece of [
    'a',
    ' ',
    '\n',
    '/\n',
    '-',
    '-\n',
    ' \n',
    'É',
    '字',
    '\u0301',
    'aA',
    '\ud800',
    '<|',
    '0',
    "'s",
  ]) {
    assert(countTokens(piece.repeat(100_000 / piece.length)) > 0)
  }
})

test('a text counted again is not counted anew, until it is the one not used for longest [F-08]', () => {
  const counted: string[] = []
  const countText = (text: string): number => counted.push(text) && countTokens(text)
  const counter = makeTokenCounter({ entriesMax: 2, countText })
  for (const text of ['a b', '', 'a b', '', 'a b', 'c', 'a b', '', 'c']) assert.equal(counter.count(text), direct(text))
  assert.deepEqual(counted, ['a b', '', 'c', '', 'c'])
})

test('a counter without a cache still counts [F-08]', () => {
  const counter = makeTokenCounter({ entriesMax: 0 })
  assert.deepEqual([counter.count('hello world'), counter.count('hello world')], [2, 2])
})
