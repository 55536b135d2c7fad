import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { test } from 'vitest'
import { dataFolder } from '../../test/support/data.ts'
import { exactMicro } from './amount.ts'
import { byCodePoint, canonical, type Json, stable } from './canonical.ts'
import { Failure } from './failure.ts'
import { digestUnder, objectHash, sha256 } from './hash.ts'

test('RFC 8785 text equals the oracle library on any JSON value [F-03 H-81]', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 6 }), (value) => {
      if (!JSON.stringify(value).isWellFormed() || /\\ud[89a-f]/.test(JSON.stringify(value))) return
      assert.equal(canonical(value as Json), canonicalize(value))
    }),
    { numRuns: 5000 },
  )
})

test('what is written is read back as the same value by the platform, in both forms [F-03]', () => {
  const integers = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.string({ unit: 'grapheme' }),
      fc.maxSafeInteger(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.string({ unit: 'grapheme' }), tie('tree'), { maxKeys: 4 }),
    ),
  })).tree
  fc.assert(
    fc.property(integers, (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value))
      assert.deepEqual(JSON.parse(canonical(value)), plain)
      assert.deepEqual(JSON.parse(stable(value)), plain)
      assert.match(stable(value), /^[\x20-\x7e]*$/)
    }),
    { numRuns: 2000 },
  )
})

test('numbers stand as ECMAScript writes them [F-03]', () => {
  const shown = [0, -0, 1e21, 1e-7, 0.1, 333333333.3333333, 4.5, 2e-3, -1.5e300].map(canonical)
  assert.deepEqual(shown, ['0', '0', '1e+21', '1e-7', '0.1', '333333333.3333333', '4.5', '0.002', '-1.5e+300'])
})

test('keys go by UTF-16 unit in RFC 8785 and by code point in the stable form [F-03 H-81]', () => {
  const value = { '\u{1f600}': 1, '\ufb01': 2, b: 3, a: { d: 1, c: 2 } }
  assert.equal(canonical(value), '{"a":{"c":2,"d":1},"b":3,"\u{1f600}":1,"\ufb01":2}')
  assert.equal(stable(value), '{"a": {"c": 2, "d": 1}, "b": 3, "\\ufb01": 2, "\\ud83d\\ude00": 1}')
})

test('the stable form escapes everything outside printable ASCII [F-03 H-81]', () => {
  assert.equal(
    stable('"\\/\b\t\n\f\r\u0001\u007f\u0080é\u2028'),
    '"\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u007f\\u0080\\u00e9\\u2028"',
  )
  assert.equal(stable([{}, [], null, true, false, -5]), '[{}, [], null, true, false, -5]')
})

test('members that are undefined are left out, as JSON has no word for them [F-03]', () => {
  assert.equal(canonical({ a: undefined, b: 1 }), '{"b":1}')
})

const cycle: Record<string, Json> = {}
cycle['self'] = cycle
const refused: readonly [what: string, write: () => string][] = [
  ['a lone surrogate', () => canonical('\ud800')],
  ['a lone surrogate in a key', () => stable({ '\udc00': 1 })],
  ['not a number', () => canonical(Number.NaN)],
  ['an infinite number', () => canonical([Number.POSITIVE_INFINITY])],
  ['a fraction in the stable form', () => stable(0.5)],
  ['an unsafe integer in the stable form', () => stable(2 ** 53)],
  ['a cycle', () => canonical(cycle)],
  ['a date', () => canonical({ at: new Date(0) } as unknown as Json)],
  ['a map', () => canonical(new Map() as unknown as Json)],
  ['a bigint', () => canonical(1n as unknown as Json)],
  ['undefined in an array', () => canonical([undefined] as unknown as Json)],
  ['a function', () => canonical((() => 1) as unknown as Json)],
]

test.each(refused)('%s has no canonical form [F-03 H-81]', (_what, write) => {
  assert.throws(write, (error) => error instanceof Failure && error.code === 'canonical.unsupported')
})

test('byCodePoint orders as a comparison of code points does [F-03]', () => {
  const reference = (a: string, b: string): number => {
    const left = [...a].map((char) => char.codePointAt(0) ?? 0)
    const right = [...b].map((char) => char.codePointAt(0) ?? 0)
    for (let at = 0; at < Math.min(left.length, right.length); at++) {
      if (left[at] !== right[at]) return (left[at] ?? 0) - (right[at] ?? 0)
    }
    return left.length - right.length
  }
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}') })
  fc.assert(fc.property(text, text, (a, b) => assert.equal(Math.sign(byCodePoint(a, b)), Math.sign(reference(a, b)))))
})

const jcs = dataFolder('jcs-vectors')
test.skipIf(jcs === undefined)('the six published RFC 8785 pairs agree byte for byte [F-03 H-81]', () => {
  const folder = jcs ?? ''
  const names = readdirSync(join(folder, 'input'))
  assert.equal(names.length, 6)
  for (const name of names) {
    const input = JSON.parse(readFileSync(join(folder, 'input', name), 'utf8')) as Json
    assert.equal(canonical(input), readFileSync(join(folder, 'output', name), 'utf8'), name)
  }
})

test('hashes are pinned [F-03]', () => {
  assert.equal(sha256(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  assert.equal(objectHash({}), 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
  assert.equal(
    digestUnder(new Uint8Array(32))(['ambit-context-v1', 'name', '"x"']),
    digestUnder(new Uint8Array(32))(['ambit-context-v1\0name', '"x"']),
  )
  assert.match(digestUnder(new Uint8Array(32))(['a']), /^hmac-sha256:[0-9a-f]{64}$/)
  assert.notEqual(digestUnder(new Uint8Array(32))(['a']), digestUnder(new Uint8Array(32).fill(1))(['a']))
})

test('a keyed digest is the HMAC of the parts joined by NUL, for every key of a block or less [F-03]', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 }),
      fc.integer({ min: 1, max: 2000 }),
      (key, parts, times) => {
        const expected = createHmac('sha256', key).update(parts.join('\0')).digest('hex')
        const digest = digestUnder(key)
        const long = `${parts.join('')}é`.repeat(times)
        assert.equal(digest([long]), `hmac-sha256:${createHmac('sha256', key).update(long).digest('hex')}`)
        assert.equal(digest(parts), `hmac-sha256:${expected}`)
      },
    ),
  )
  assert.throws(() => digestUnder(new Uint8Array(65)), /longer than a block/)
})

test('hashed money is whole millionths of a cent, and what is not exact has no hash [R-116]', () => {
  fc.assert(
    fc.property(fc.integer({ min: -(10 ** 12), max: 10 ** 12 }), (micro) => {
      const amount = Number(`${micro}e-6`)
      assert.equal(exactMicro(amount) ?? 0, micro)
      for (const name of ['max_cost_cents', 'cost_cents', 'cost_usd_cents'])
        assert.equal(
          objectHash({ deep: [{ [name]: amount }] }),
          `sha256:${sha256(`{"deep":[{"${name}":${micro || 0}}]}`)}`,
        )
    }),
  )
  assert.equal(
    objectHash({ price_cents: 0.25, cost_cents: '0.25' }),
    `sha256:${sha256('{"cost_cents":"0.25","price_cents":0.25}')}`,
  )
  const unsafe = [
    { cost_cents: 0.1234567 },
    { max_cost_cents: 1e-7 },
    { cost_cents: 1e12 },
    { a: [2 ** 53] },
    { a: -(2 ** 60) },
  ]
  for (const value of unsafe) assert.throws(() => objectHash(value), { code: 'number.unsafe' })
})
