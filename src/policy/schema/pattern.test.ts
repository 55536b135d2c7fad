import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { Steps, StepsSpent } from '../../base/steps.ts'
import { compilePattern } from './pattern.ts'

function patternOf(source: string, stepsMax = 1_000_000) {
  const steps = new Steps()
  steps.allow(stepsMax)
  return compilePattern(source, steps)
}

const email = "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"
const uuid = '^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$'

describe('a pattern finds what the platform finds [H-41]', () => {
  test.each([
    ['^[a-z]+(-[a-z]+)*$', ['a-b-c', 'a--b', '', 'a-']],
    [email, ['a.b@c.de', 'a..b@c.de', '.a@c.de', 'a@c', 'a@b-c.d.ef']],
    [uuid, ['01234567-89ab-cdef-0123-456789abcdef', '01234567-89ab-cdef-0123-456789abcdeg']],
    ['^\\d{4}-\\d{2}-\\d{2}$', ['2026-06-16', '2026-6-16', '2026-06-16\n']],
    ['^(?=.{1,253}\\.?$)[\\w.-]+$', ['a.example', `${'a'.repeat(254)}`]],
    ['^(?:[0-9a-zA-Z+/]{4})*(?:[0-9a-zA-Z+/]{2}==|[0-9a-zA-Z+/]{3}=)?$', ['YWJj', 'YWI=', 'YQ==', 'YQ=']],
    ['^(\\p{Extended_Pictographic}|\\p{Emoji_Component})+$', ['😀', 'a', '']],
    ['\\uD83D\\uDE00|\\u{1F601}|[\\]\\-x]\\x41\\cJ\\0', ['😀', '😁', '\uD83D', ']A\n\0']],
    ['^.$', ['😀', '\n', '\uD83D']],
    ['(?<=\\bno )(?<name>cat)s?(?!\\w)', ['no cats', 'no catsy', 'know cat']],
    ['a{2}b{1,}c{0,2}d*?e??', ['aab', 'ab', 'aabccde']],
    ['', ['', 'a']],
  ])('%s', (source, texts) => {
    const pattern = patternOf(source)
    for (const text of texts) assert.equal(pattern.test(text), new RegExp(source, 'u').test(text), JSON.stringify(text))
  })

  test('whatever it is made of', () => {
    void fc.assert(
      fc.property(
        anyPattern,
        fc.array(fc.string({ unit: fc.constantFrom(...'abc -\né'), maxLength: 8 }), { maxLength: 8 }),
        (source, texts) => {
          const pattern = patternOf(source)
          for (const text of texts)
            assert.equal(pattern.test(text), new RegExp(source, 'u').test(text), `${source} ${JSON.stringify(text)}`)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

// Without pairs of surrogates: with those the platform finds an empty text between the two, which is no place of a text.
const anyPattern = fc.letrec<{ whole: string; one: string }>((tie) => ({
  whole: fc
    .array(
      fc.array(tie('one'), { maxLength: 3 }).map((parts) => parts.join('')),
      { minLength: 1, maxLength: 2 },
    )
    .map((options) => options.join('|')),
  one: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\s', 'é', '^', '$', '\\b', '\\B'),
    tie('whole').map((inner) => `(?:${inner})`),
    fc
      .tuple(tie('whole'), fc.constantFrom('*', '+', '?', '{2}', '{1,2}', '{0,3}?', '{1,}', '*?'))
      .map(([inner, count]) => `(${inner})${count}`),
    fc.tuple(fc.constantFrom('?=', '?!', '?<=', '?<!'), tie('whole')).map(([kind, inner]) => `(${kind}${inner})`),
  ),
})).whole

describe('a pattern takes no more steps than it has states for each character [H-41]', () => {
  test('whatever it is made of', () => {
    void fc.assert(
      fc.property(anyPattern, fc.constantFrom('a', 'ab', '-', '😀'), (source, unit) => {
        const steps = new Steps()
        const spent = (work: () => void): number => {
          steps.allow(10_000_000)
          work()
          return 10_000_000 - steps.left
        }
        const made: { pattern?: ReturnType<typeof compilePattern> } = {}
        const states = spent(() => {
          made.pattern = compilePattern(source, steps)
        })
        const text = `${unit.repeat(200)}!`
        assert(spent(() => made.pattern?.test(text)) <= 20 * states * (text.length + 2), source)
      }),
    )
  })

  test.each(['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(a*)*b', '^(([a-z])+.)+[A-Z]([a-z])+$', '(x+x+)+y', '(?=(a+)+$)b'])(
    '%s',
    (source) => {
      const steps = new Steps()
      steps.allow(1_000_000)
      assert.equal(compilePattern(source, steps).test(`${'a'.repeat(5_000)}!`), false)
    },
  )

  test.each(['\\bx', '\\Bx', '$x', '(?!a)x', '(?<=b)x'])('a place that is asked for is a step: 50 times %s', (one) => {
    const steps = new Steps()
    steps.allow(1_000_000)
    const pattern = compilePattern(Array.from({ length: 50 }, () => one).join('|'), steps)
    const before = steps.left
    assert.equal(pattern.test('a'.repeat(1_000)), false)
    assert.ok(before - steps.left > 2 * 50 * 1_000, `${before - steps.left} steps`)
  })

  test('and is given up where that is more than is allowed', () => {
    const pattern = patternOf('a.{100}b', 100_000)
    assert.throws(() => pattern.test('a'.repeat(5_000)), StepsSpent)
    for (const source of ['(?:a{1000}){1000}', '(?:){1000000000}', '(?:(?:){100000}){100000}', '(?=a{100000})'])
      assert.throws(() => patternOf(source, 50_000), StepsSpent, source)
  })
})

test('what cannot be found so is refused: references back, and groups that are not known [H-41]', () => {
  for (const source of ['(a)\\1', '(?<x>a)\\k<x>', '(?i:a)', '(', '\\-'])
    assert.throws(() => patternOf(source), { code: 'field.invalid' }, source)
})
