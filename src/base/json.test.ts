import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { Failure } from './failure.ts'
import { readJson } from './json.ts'

const refusal = (input: string | Uint8Array, bounds = {}): Failure => {
  try {
    readJson(input, bounds)
  } catch (error) {
    assert(error instanceof Failure, `not a Failure: ${error}`)
    return error
  }
  return assert.fail(`accepted ${JSON.stringify(input).slice(0, 80)}`)
}

test('whatever JSON.stringify writes within the limits is read back unchanged [F-02]', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value)
      const plain: unknown = JSON.parse(text)
      if (/"__proto__"/.test(text) || hasUnsafe(plain)) return
      assert.deepEqual(readJson(text), plain)
      assert.deepEqual(readJson(new TextEncoder().encode(text)), plain)
    }),
    { numRuns: 3000 },
  )
})

test('text the platform refuses is refused, and mutated text never means something else [F-02]', () => {
  const mutate = fc.tuple(
    fc.jsonValue({ maxDepth: 4 }),
    fc.nat(),
    fc.constantFrom('', ',', '"', '{', ']', '\\', '0', '\u0001', ' '),
  )
  fc.assert(
    fc.property(mutate, ([value, at, insert]) => {
      const text = JSON.stringify(value)
      const cut = at % (text.length + 1)
      const changed = text.slice(0, cut) + insert + text.slice(cut + 1)
      let expected: unknown
      let bad = false
      try {
        expected = JSON.parse(changed)
      } catch {
        bad = true
      }
      let got: unknown
      try {
        got = readJson(changed)
      } catch (error) {
        assert(error instanceof Failure)
        return
      }
      assert(!bad, `accepted ${changed}`)
      assert.deepEqual(got, expected)
    }),
    { numRuns: 5000 },
  )
})

const refused: readonly [what: string, text: string, code: string][] = [
  ['a duplicate member', '{"a":1,"b":{"c":1,"c":2}}', 'json.invalid'],
  ['a duplicate member spelled with an escape', '{"a":1,"\\u0061":2}', 'json.invalid'],
  ['__proto__', '{"__proto__":{"admin":true}}', 'json.invalid'],
  ['__proto__ spelled with an escape', '{"\\u005f_proto__":1}', 'json.invalid'],
  ['an integer past 2^53 − 1', '[9007199254740992]', 'number.unsafe'],
  ['a negative one', '-9007199254740992', 'number.unsafe'],
  ['the same integer as a power', '1e20', 'number.unsafe'],
  ['a number past the largest', '1e999', 'number.unsafe'],
  ['a lone high surrogate escaped', '"\\ud800"', 'json.invalid'],
  ['a lone low surrogate escaped', '"x\\udc00"', 'json.invalid'],
  ['a lone surrogate raw', '"\ud800"', 'json.invalid'],
  ['a byte-order mark', '\ufeff{}', 'json.invalid'],
  ['a trailing comma in an object', '{"a":1,}', 'json.invalid'],
  ['a trailing comma in an array', '[1,]', 'json.invalid'],
  ['a comment', '{} // x', 'json.invalid'],
  ['a second value', '{}{}', 'json.invalid'],
  ['nothing', '', 'json.invalid'],
  ['blanks only', ' \n ', 'json.invalid'],
  ['a leading zero', '01', 'json.invalid'],
  ['a bare point', '1.', 'json.invalid'],
  ['a plus sign', '+1', 'json.invalid'],
  ['NaN', 'NaN', 'json.invalid'],
  ['single quotes', "{'a':1}", 'json.invalid'],
  ['a raw line break in a string', '"a\nb"', 'json.invalid'],
  ['an unknown escape', '"\\x41"', 'json.invalid'],
  ['an escape cut off by the end', '"\\', 'json.invalid'],
  ['a string without end', '{"a":"b', 'json.invalid'],
  ['a word cut short', 'tru', 'json.invalid'],
]

test.each(refused)('%s is refused [F-02 H-81]', (_what, text, code) => {
  assert.equal(refusal(text).code, code)
})

test('a refusal names the line and column, never the value [F-02]', () => {
  const failure = refusal('{"a": 1,\n "secret-name": 1, "secret-name": 2}')
  assert.deepEqual(failure.data, { line: 2, column: 20 })
  assert(!failure.message.includes('secret-name'), failure.message)
})

test('size and depth are bounded before anything else looks [F-02]', () => {
  assert.equal(refusal(' '.repeat(1024 * 1024 + 1)).code, 'json.too_large')
  assert.equal(refusal('"éé"', { bytesMax: 5 }).code, 'json.too_large')
  assert.deepEqual(readJson('[[1]]', { depthMax: 2 }), [[1]])
  assert.match(refusal('[[[1]]]', { depthMax: 2 }).message, /more than 2 levels/)
  assert(Array.isArray(readJson(`${'['.repeat(64)}${']'.repeat(64)}`)))
  assert.match(refusal('['.repeat(100_000)).message, /more than 64 levels/)
  assert.match(refusal('{"a":'.repeat(100_000)).message, /more than 64 levels/)
})

test('bytes that are not UTF-8 are refused [F-02]', () => {
  assert.match(refusal(Uint8Array.of(0x22, 0xc3, 0x28, 0x22)).message, /not UTF-8/)
  assert.match(refusal(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)).message, /not UTF-8/)
})

test('names of built-in members are plain data [F-02]', () => {
  const value = readJson('{"constructor":1,"toString":2,"hasOwnProperty":3}') as Record<string, unknown>
  assert.deepEqual(Object.keys(value), ['constructor', 'toString', 'hasOwnProperty'])
})

function hasUnsafe(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  if (typeof value === 'string') return !value.isWellFormed()
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([key, item]) => !key.isWellFormed() || hasUnsafe(item))
}
