import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { test } from 'vitest'
import { sweep } from '../../test/support/sweep.ts'
import { Failure } from '../base/failure.ts'
import { grantPath } from '../model/grant.ts'
import { type GrantFault, parseGrant } from './parse.ts'

/** The refusal, or undefined for a path that comes back as it went in. */
function refusal(input: unknown): Failure | undefined {
  try {
    assert.equal(parseGrant(input), input)
    return undefined
  } catch (error) {
    assert(error instanceof Failure)
    return error
  }
}

const reasonOf = (input: unknown): unknown => refusal(input)?.data['reason']

const refused = (reason: GrantFault, inputs: readonly unknown[]): void => {
  for (const input of inputs) assert.equal(reasonOf(input), reason, inspect(input))
}

const accepted = (inputs: readonly string[]): void => {
  for (const input of inputs) assert.equal(reasonOf(input), undefined, JSON.stringify(input))
}

test('a grant is a plain path of segments, and comes back as the very text it was [G-04 G-11]', () => {
  accepted(['acme', 'acme/eu/desk-7', 'app/user/u_123', 'a@b.example', 'urn:x:y', 'x+y', '-', '_', '0'])
  accepted([
    'Acme/ACME/acme',
    'Kundenakte/é..é/𝒳',
    'ß',
    'ﬁ',
    'Å',
    '日本/東京',
    'a~b',
    "it's",
    '"',
    'a,b;c=d&e',
    '$',
    '#',
  ])
  accepted(['\u{e000}', '\u{10ffff}', '٣', 'Ω', 'a\u0327\u0323'.normalize('NFC')])
})

test('a grant that is no text is refused [G-04]', () => {
  refused('type', [undefined, null, 0, 1n, true, {}, [], ['a'], new String('a'), () => 'a', Symbol('a')])
  const failure = refusal(7)
  assert.equal(failure?.code, 'grant.invalid')
  assert.equal(failure?.message, 'grant is not valid: type')
})

test('a grant that begins or ends with a slash is refused [G-05]', () => {
  refused('slash', ['/', '//', '/a', 'a/', '/a/', '//a', 'a//', '/é', '/..', './'])
})

test('an empty grant, or one with an empty segment, is refused [G-06]', () => {
  refused('empty', [''])
  refused('empty_segment', ['a//b', 'a///b', 'é//b', '..//b', 'a//*'])
})

test('a grant with a segment of dots only is refused, with other dots not [G-07]', () => {
  refused('traversal', [
    '.',
    '..',
    '...',
    '........',
    'a/.',
    'a/..',
    '../a',
    'a/../b',
    'a/./b',
    'é/…/..',
    '../*',
    '..%/.',
  ])
  accepted(['.a', '..a', 'a..', 'a.b', 'a/..b/c..', '.é', '…', '․'])
})

test('a grant with a wildcard is refused [G-08]', () => {
  refused('wildcard', [
    '*',
    '?',
    '[',
    ']',
    '{',
    '}',
    'a*',
    '*a',
    'a/*/b',
    'a/b?',
    'a/[b]',
    '{a,b}',
    'é/**',
    '*%',
    '\\*',
  ])
})

test('a grant with a backslash or a percent sign is refused [G-14]', () => {
  refused('reserved_character', ['\\', '%', 'a\\b', 'a/..\\b', '%2e%2e', 'a%2fb', 'a/%', '100%', 'é\\'])
  accepted(['a％b', 'a＼b', 'a∕b', 'a⁄b'])
})

test('a grant with white space is refused, of any kind and in any position [G-09]', () => {
  const spaces = '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2004\u2007\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
  const changedByForm = '\u2000\u2001'
  for (const space of spaces) {
    const reason = changedByForm.includes(space) ? 'normalization' : 'whitespace'
    refused(reason, [space, `${space}a`, `a${space}`, `a${space}b`, `a/${space}/b`, `a/b${space}`, `/${space}\u0000`])
  }
  refused('whitespace', ['a b', ' a', 'a ', 'a/ b', 'a\n'])
})

test('a grant with an invisible character is refused [G-13]', () => {
  refused('control', [
    '\u0000',
    'a\u0000b',
    '\u0001',
    '\u001b[31m',
    '\u007f',
    '\u0080',
    '\u009f',
    'a/\u0008',
    '/\u0007',
  ])
  const invisible = [
    ['soft hyphen, joiners, marks', '\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f'],
    ['embeddings, overrides, isolates', '\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069'],
    ['invisible operators, reserved', '\u2060\u2061\u2064\u2065\u206a\u206f\ufff0\ufff8'],
    ['fillers and vowel carriers', '\u115f\u1160\u3164\uffa0\u17b4\u17b5\u034f'],
    ['variation selectors', '\u180b\ufe00\ufe0f\u{e0100}\u{e01ef}'],
    ['tags', '\u{e0001}\u{e0020}\u{e007f}\u{e0000}\u{e0fff}'],
    ['marks of other scripts', '\u0600\u06dd\u070f\u{110bd}\u{1bca0}\u{1d173}\ufff9\ufffb'],
  ] as const
  for (const [what, characters] of invisible) {
    for (const char of characters) {
      for (const text of [char, `a${char}`, `${char}a`, `a/${char}/b`, `/${char}`]) {
        assert.equal(reasonOf(text), 'invisible', `${what}: U+${char.codePointAt(0)?.toString(16)}`)
      }
    }
  }
})

test('a grant with a lone surrogate is refused [G-13]', () => {
  refused('encoding', ['\ud800', '\udfff', 'a\ud83d', '\ude00a', 'a/\udc00\ud800', '\ud800 ', 'e\u0301\ud800'])
})

test('a grant that is not in NFC is refused, not converted [G-12]', () => {
  refused('normalization', ['e\u0301', 'a/e\u0301/b', '\u212b', '\u2126', '\u1100\u1161', '\u0958', 'q\u0307\u0323'])
  refused('normalization', ['\uf900', 'a\u0301 b', '\u0340', '\u{1d15e}', '\u0344\u0000'])
  accepted(['é', 'Ω', '가', 'q\u0323\u0307'])
})

test('the limits of a grant count bytes and segments, at the limit and one past it [G-15]', () => {
  const segments = (count: number) => Array.from({ length: count }, () => 'a').join('/')
  const long = (bytes: number) => `${'a'.repeat(127)}/${'a'.repeat(127)}/${'a'.repeat(127)}/${'a'.repeat(bytes - 384)}`
  accepted([long(512), segments(32), 'a'.repeat(128), 'é'.repeat(64), '𝒳'.repeat(32), `a/${'.a'.repeat(64)}`])
  refused('too_long', [
    long(513),
    `${long(511)}é`,
    'é'.repeat(257),
    '𝒳'.repeat(129),
    ' '.repeat(513),
    '\ud800'.repeat(171),
  ])
  refused('too_deep', [segments(33), `${segments(32)}/é`, `${segments(32)}/..`, `${'a'.repeat(129)}/${segments(32)}`])
  refused('segment_too_long', [
    'a'.repeat(129),
    'é'.repeat(65),
    `a/${'𝒳'.repeat(33)}`,
    '.'.repeat(129),
    '*'.repeat(129),
  ])
})

test('a refusal for size names the limit and no text, and one far too long is not read [G-15]', () => {
  const endless = 'a/'.repeat(2 ** 24)
  const failure = refusal(endless)
  assert.equal(failure?.code, 'grant.limit')
  assert.equal(failure?.message, 'grant exceeds 512 bytes')
  assert.deepEqual(failure?.data, { reason: 'too_long' })
  assert.equal(refusal(`${'a/'.repeat(32)}a`)?.message, 'grant exceeds 32 segments')
  assert.equal(refusal('a'.repeat(129))?.message, 'grant exceeds 128 bytes in one segment')
})

test('a refusal quotes the grant, escaped [G-13]', () => {
  const failure = refusal('a\u202e`b')
  assert.equal(failure?.message, 'grant `a\\u{202e}\\u{60}b` is not valid: invisible')
  assert.equal(refusal('a//b')?.message, 'grant `a//b` is not valid: empty segment')
  assert.equal(failure?.code, 'grant.invalid')
  assert.deepEqual(failure?.data, { reason: 'invisible' })
})

/** The same rules over lists of characters and segments, every one of them asked. */
function slowReason(text: string): GrantFault | undefined {
  const bytes = (part: string) => new TextEncoder().encode(part).length
  const chars = [...text]
  const segments = text.split('/')
  const has = (kind: RegExp) => chars.some((char) => kind.test(char))
  const rules: readonly [GrantFault, boolean][] = [
    ['empty', chars.length === 0],
    ['too_long', bytes(text) > 512],
    ['encoding', has(/^\p{Cs}$/u)],
    ['normalization', text !== text.normalize('NFC')],
    ['whitespace', has(/^[\s\u0085]$/u)],
    ['control', has(/^\p{Cc}$/u)],
    ['invisible', has(/^\p{Cf}$/u) || has(/^\p{DI}$/u)],
    ['slash', chars.at(0) === '/' || chars.at(-1) === '/'],
    ['empty_segment', segments.some((segment) => segment.length === 0)],
    ['too_deep', segments.length > 32],
    ['segment_too_long', Math.max(...segments.map(bytes)) > 128],
    ['traversal', segments.some((segment) => [...segment].every((char) => char === '.'))],
    ['wildcard', chars.some((char) => '*?[]{}'.includes(char))],
    ['reserved_character', chars.some((char) => char === '\\' || char === '%')],
  ]
  return rules.find(([, applies]) => applies)?.[0]
}

const step = sweep(11, 1)

test('every character there is gets the answer of the slow rules, alone and between others [G-09 G-12 G-13]', () => {
  for (
    let code = 0;
    code <= 0x10ffff;
    code += code < 0x20000 || (code >= 0xe0000 && code < 0xe1000) ? step : 251 * step
  ) {
    const char = String.fromCodePoint(code)
    assert.equal(reasonOf(`a${char}b`), slowReason(`a${char}b`), code.toString(16))
  }
})

const hostileText = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('a', 'b', '/', '.', '..', 'Z-9', '_', '@', 'é', '𝒳') },
      {
        weight: 1,
        arbitrary: fc.constantFrom(' ', '\u0000', '\u200b', '\u0301', '\ud800', '*', '%', '\\', '\ufeff', '//'),
      },
      { weight: 1, arbitrary: fc.constantFrom('x'.repeat(127), 'é'.repeat(64), 'a/'.repeat(16), '/b'.repeat(31)) },
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

test('any text gets the answer of the slow rules, first failure first [G-05 G-06 G-07 G-08 G-14 G-15]', () => {
  fc.assert(
    fc.property(hostileText, (text) => assert.equal(reasonOf(text), slowReason(text))),
    { numRuns: sweep(300, 3_000) },
  )
})

test('what the parser accepts has the published shape of a grant path [G-04]', () => {
  fc.assert(
    fc.property(hostileText, (text) => {
      if (reasonOf(text) === undefined) assert(grantPath.safeParse(text).success, text)
    }),
  )
})
