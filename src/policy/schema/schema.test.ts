import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../base/canonical.ts'
import type { JsonObject } from '../../base/object.ts'
import type { SchemaProblem } from './problems.ts'
import { compileLater, compileSchema } from './schema.ts'

const schema = {
  type: 'object',
  additionalProperties: false,
  required: ['batch_id', 'minutes'],
  properties: {
    batch_id: { type: 'string', pattern: '^B-[0-9]{6}$', 'x-sensitive': true },
    minutes: { type: 'integer', minimum: 0 },
    'odd/name': { type: 'string', format: 'no-such-format' },
  },
}

test('a value against a JSON Schema is reported by path and keyword, never by value [H-41 H-71]', () => {
  const check = compileSchema(schema)
  assert.deepEqual(check({ batch_id: 'B-204417', minutes: 14, 'odd/name': 'x' }), [])
  assert.deepEqual(placesOf(check({ batch_id: 'secret-value', minutes: -1 })), [
    { path: '/batch_id', keyword: 'pattern' },
    { path: '/minutes', keyword: 'minimum' },
  ])
  assert.deepEqual(placesOf(check({ batch_id: 'B-204417', minutes: 1, more: 'secret-value' })), [
    { path: '', keyword: 'additionalProperties' },
  ])
  assert.deepEqual(placesOf(check({ batch_id: 'B-204417', minutes: 1, 'odd/name': 7 })), [
    { path: '/odd~1name', keyword: 'type' },
  ])
  assert.deepEqual(placesOf(check([])), [{ path: '', keyword: 'type' }])
})

test('a value against a JSON Schema reports no more than anyone reads [H-41 H-71]', () => {
  const check = compileSchema({ type: 'array', items: { type: 'string' } })
  assert.equal(check(Array.from({ length: 100 }, () => 1)).length, 32)
  assert.equal(check([1]).length, 1)
})

test('names that stand beside what asks for others cost nothing more, however many rows there are [H-41 H-71]', () => {
  const names = Array.from({ length: 200 }, (_, index) => [`member_${index}`, { type: 'string' }])
  const properties = Object.fromEntries(names)
  const check = compileSchema({ type: 'array', items: { type: 'object', properties, unevaluatedProperties: false } })
  const row = { member_1: 'a', member_2: 'b', member_3: 'c' }
  assert.deepEqual(check(Array.from({ length: 5_000 }, () => row)), [])
})

test('a value against a JSON Schema knows the whole of the draft: references, conditions, unevaluated members [H-41 H-71]', () => {
  const check = compileSchema({
    $defs: { id: { const: 'x' } },
    properties: { id: { $ref: '#/$defs/id' } },
    if: { required: ['a'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { a: { type: 'null' } } },
    unevaluatedProperties: false,
  })
  assert.deepEqual(check({ id: 'x', a: null }), [])
  assert.equal(check({ id: 'y' })[0]?.keyword, 'const')
  assert.equal(check({ b: 1 })[0]?.keyword, 'unevaluatedProperties')
})

test('two schemas may share an id and differ [H-41 H-71]', () => {
  const schema = (type: string) => ({ $id: 'https://ambit.example/x', $defs: { y: { $id: 'y', type } }, $ref: 'y' })
  const first = compileSchema(schema('string'))
  const second = compileSchema(schema('number'))
  assert.deepEqual([first('a'), second(1)], [[], []])
  assert.deepEqual([first(1)[0]?.keyword, second('a')[0]?.keyword], ['type', 'type'])
})

test.each<[object, Json, string[]]>([
  [{ required: ['constructor'] }, {}, ['required']],
  [{ properties: { constructor: { type: 'string' } } }, { year: 2024 }, []],
  [{ properties: { constructor: { type: 'string' } } }, { constructor: 1 }, ['type']],
  [{ dependentRequired: { constructor: ['a'] } }, {}, []],
  [{ dependentSchemas: { toString: false } }, {}, []],
  [{ additionalProperties: false }, { valueOf: 1 }, ['additionalProperties']],
  [
    { anyOf: [{ properties: { a: true } }, { required: ['b'] }], unevaluatedProperties: false },
    { constructor: 1 },
    ['unevaluatedProperties'],
  ],
])('an object has the names that are written in it: %j %j [H-41]', (schema, value, keywords) => {
  assert.deepEqual(keywordsOf(compileSchema({ ...schema })(value)), keywords)
})

test('what a schema calls itself is never run [H-41]', () => {
  const thrown = '*/throw 1/*"*/throw 1//'
  const check = compileSchema({ $id: thrown, properties: { [thrown]: { $id: `${thrown}/a`, type: 'string' } } })
  assert.deepEqual(keywordsOf(check({ [thrown]: 1 })), ['type'])
})

test('a member of a schema that is undefined is none [H-41]', () => {
  const check = compileSchema({ maxLength: undefined, properties: { b: { type: 'string', minLength: undefined } } })
  assert.deepEqual([check({ a: 1, b: 'x' }), check('abc')], [[], []])
})

test('a schema that is none is refused, and so is one that reaches outside [H-41 H-71]', () => {
  for (const bad of [
    { type: 'nothing' },
    { $ref: 'https://elsewhere/x.json' },
    { pattern: '(' },
    { required: 'a' },
    { $schema: 'http://json-schema.org/draft-07/schema#' },
  ]) {
    assert.throws(() => compileSchema(bad), { code: 'field.invalid' })
  }
})

test('a schema that is compiled later answers as one that is compiled now, and one of no use refuses everything [H-41]', () => {
  const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }
  for (const value of [{}, { a: 1 }, { a: 'x' }, [], null])
    assert.deepEqual(compileLater(schema)(value), compileSchema(schema)(value))
  assert.throws(() => compileLater({ type: 7 }), { code: 'field.invalid' })
  const check = compileLater({ $ref: 'https://elsewhere.example/schema' })
  assert.deepEqual([check({}), check({})].map(placesOf), [
    [{ path: '', keyword: 'schema' }],
    [{ path: '', keyword: 'schema' }],
  ])
})

describe('a schema of others takes no more than a bounded number of steps [H-41]', () => {
  const times = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, at) => make(at))
  const members = <T>(count: number, make: (index: number) => T) =>
    Object.fromEntries(times(count, (at) => [`m${at}`, make(at)]))
  const twice = (ref: string) => ({ allOf: [{ $ref: ref }, { $ref: ref }] })
  const doubled = (at: string) => ({
    ...members(30, (index) => twice(`${at}/m${index + 1}`)),
    m30: { type: 'object' },
  })
  const failing = (count: number) => ({
    ...members(count, (at) => ({ anyOf: times(2, () => ({ $ref: `#/$defs/m${at + 1}` })) })),
    [`m${count}`]: { not: {} },
  })
  const chainOf = (keyword: string, last: Json) => ({
    properties: { a: { not: { $ref: '#/$defs/m0' } } },
    $defs: {
      m0: { [keyword]: times(190, () => ({ $ref: '#/$defs/m1' })) },
      m1: { [keyword]: times(190, () => ({ $ref: '#/$defs/m2' })) },
      m2: { [keyword]: times(190, () => last) },
    },
  })
  const nested = times(40, () => 0).reduce<Json>((inner) => ({ x: inner }), {})

  test('a pattern with many ways to find nothing', () => {
    const check = compileSchema({ properties: { a: { pattern: '^(a+)+$' } }, patternProperties: { '^(b|b)*$': false } })
    const hopeless = (char: string) => `${char.repeat(100)}!`
    assert.equal(check({ a: hopeless('a') })[0]?.keyword, 'pattern')
    assert.deepEqual(check({ a: 'aaa', [hopeless('b')]: 1 }), [])
    assert.equal(check({ bb: 1 })[0]?.path, '/bb')
  })

  test.each<[string, object, Json]>([
    ['parts that refer twice to the next', { $ref: '#/$defs/m0', $defs: doubled('#/$defs') }, {}],
    ['the same in a place that holds no schemas', { $ref: '#/x/m0', x: doubled('#/x') }, {}],
    ['in a default', { $ref: '#/default/m0', default: doubled('#/default') }, {}],
    ['parts that refer twice to themselves, for the next level', { properties: { x: twice('#') } }, nested],
    ['parts that all fail', { not: { $ref: '#/$defs/m0' }, $defs: failing(20) }, {}],
    [
      'the same beside a long text',
      { properties: { a: { not: { $ref: '#/$defs/m0' } } }, $defs: failing(20) },
      { a: 1, b: 'x'.repeat(1_500_000) },
    ],
    ['parts that all fail, the last of them always', chainOf('anyOf', false), { a: 1 }],
    ['the same where one has to fit', chainOf('oneOf', false), { a: 1 }],
    ['the same with a number', chainOf('anyOf', { minimum: 2 }), { a: 1 }],
    [
      'lists that should contain what is never there',
      { anyOf: times(10, () => ({ contains: false })) },
      times(400_000, () => 1),
    ],
    [
      'many choices at long names',
      {
        additionalProperties: {
          additionalProperties: { items: { anyOf: [...times(20, () => false), { type: 'number' }] } },
        },
      },
      { ['k'.repeat(2_000)]: { ['k'.repeat(2_000)]: times(6_000, () => 1) } },
    ],
    [
      'many choices at a name that has to be written otherwise',
      { additionalProperties: { anyOf: [...times(100, () => ({ type: 'string' })), { type: 'number' }] } },
      { ['~'.repeat(500_000)]: 1 },
    ],
    [
      'a list whose items are compared again and again',
      { allOf: times(30, () => ({ uniqueItems: true })) },
      times(100_000, (at) => `a${at}`),
    ],
    [
      'many choices of which none is it',
      { items: { anyOf: [...times(500, () => ({ enum: [1] })), { type: 'number' }] } },
      times(10_000, () => 2),
    ],
    [
      'many parts at many items',
      { items: { allOf: times(1_000, (at) => ({ minimum: at })) } },
      times(50_000, () => 9_999),
    ],
    [
      'many names that are carried along',
      {
        unevaluatedProperties: false,
        items: { anyOf: times(20, (at) => ({ properties: { [`m${at}`]: true, ...members(60, () => true) } })) },
      },
      times(4_000, () => ({})),
    ],
    ['many members at many objects', { items: { properties: members(1_000, () => ({})) } }, times(50_000, () => ({}))],
    [
      'many names at many objects',
      { items: { anyOf: [{ required: times(9_000, String) }, { type: 'object' }] } },
      times(9_000, () => ({})),
    ],
    [
      'many patterns at many names',
      { patternProperties: members(400, () => ({ type: 'number' })) },
      members(9_000, () => 1),
    ],
    ['many bounds of a long text', { allOf: times(1_000, (at) => ({ maxLength: 1e6 + at })) }, 'x'.repeat(500_000)],
    [
      'parts that say that they cost nothing',
      {
        $ref: '#/x/m0',
        x: { ...doubled('#/x'), ...members(30, (at) => ({ ...twice(`#/x/m${at + 1}`), 'x-ambit-steps': -1e9 })) },
      },
      {},
    ],
  ])('%s', (_, bomb, value) => {
    assert.deepEqual(keywordsOf(compileSchema({ ...bomb })(value)), ['steps'])
  })

  test.each<[string, object]>([
    ['many patterns', { properties: members(501, (at) => ({ pattern: `^${at}$` })) }],
    ['a pattern that repeats often', { pattern: '(?:a{1000}){1000}' }],
    ['many parts', { properties: members(3_000, () => ({ type: 'string' })) }],
    ['many choices that are always or never taken', { oneOf: times(30_000, () => true) }],
    [
      'one large part by several names',
      {
        allOf: [
          { $anchor: 'big', allOf: times(1_000, () => ({ minimum: 1 })) },
          { $ref: '#big' },
          { $ref: '#/allOf/0' },
        ],
      },
    ],
    ['many choices, one in the other', { properties: members(1_400, () => ({ oneOf: [{ type: 'string' }] })) }],
    ['one that leads back to itself', { $ref: '#' }],
    [
      'a map that is referred to as a schema',
      {
        foo: { properties: { enum: times(2_000, (at) => [at]) } },
        items: { not: { $ref: '#/foo/properties' } },
      },
    ],
    [
      'a map that has a name as a schema has',
      { foo: { dependentSchemas: { $anchor: 'map', enum: times(2_000, (at) => [at]) } }, $ref: '#map' },
    ],
    [
      'many names that are known wherever they are referred to',
      {
        unevaluatedProperties: false,
        $defs: { big: { properties: members(1_000, () => true) } },
        anyOf: times(400, () => ({ $ref: '#/$defs/big' })),
      },
    ],
    ['a long name', { properties: { ['~'.repeat(3_000)]: { type: 'string' } } }],
    ['a long id', { $id: `https://ambit.example/${'k/'.repeat(1_500)}` }],
    [
      'many parts at the end of a long path',
      { properties: { ['k'.repeat(2_000)]: { anyOf: times(700, () => ({ type: 'string' })) } } },
    ],
    ['a list that is referred to as a schema', { $ref: '#/allOf', allOf: [{}] }],
    ['the schema of schemas', { $ref: 'https://json-schema.org/draft/2020-12/schema' }],
    ['a value that is referred to as a schema', { $ref: '#/const/m0', const: doubled('#/const') }],
    ['a value that is referred to in disguise', { $ref: '#/%63onst/m0', const: doubled('#/const') }],
  ])('it is refused if it would take long to compile: %s', (_, large) => {
    assert.throws(() => compileSchema({ ...large }), { code: 'field.invalid' })
    assert.deepEqual(keywordsOf(compileLater({ ...large })({})), ['schema'])
  })

  test.each<[string, object]>([
    ['const', { const: { a: 1, b: [2, null] } }],
    ['enum', { enum: [...times(2_000, (at) => ({ [`a${at}`]: at })), { a: 1, b: [2, null] }] }],
  ])('a value is looked at once, however many it may be: %s', (keyword, equal) => {
    let walks = 0
    const watched = (value: object) =>
      new Proxy(value, {
        ownKeys: (target) => {
          walks++
          return Reflect.ownKeys(target)
        },
      }) as Json
    const check = compileSchema({ ...equal })
    assert.deepEqual(check(watched({ b: [2, null], a: 1 })), [])
    assert.deepEqual(keywordsOf(check(watched({ b: [2, null], a: 2 }))), [keyword])
    assert.ok(walks < 10, `${walks} walks`)
  })

  test('values are equal or not, of whatever kind, and none is equal to its text', () => {
    const values: Json[] = [0, '0', false, null, '', 'null', [], {}, '[]', '{}', [0], { a: 0 }, '\ud800', ['\ud800']]
    for (const one of values)
      for (const other of values) {
        const expected = one === other
        assert.equal(compileSchema({ const: one })(other).length === 0, expected)
        assert.equal(compileSchema({ enum: [one] })(other).length === 0, expected)
      }
    assert.deepEqual(compileSchema({ const: 0 })(-0), [])
  })

  test('a part that never fits is one choice among others', () => {
    const check = compileSchema({ anyOf: [false, { type: 'string' }], contains: false, minContains: 0 })
    assert.deepEqual([check('x'), keywordsOf(check(1))], [[], ['anyOf']])
    assert.deepEqual(keywordsOf(compileSchema({ contains: false })([1])), ['contains'])
    assert.deepEqual(keywordsOf(compileSchema({ oneOf: [true, false, true] })(1)), ['oneOf'])
  })

  test('names are carried along only where a keyword needs them', () => {
    const forms = times(20, (at) => ({ properties: { [`m${at}`]: true, ...members(60, () => ({})) } }))
    assert.deepEqual(compileSchema({ items: { anyOf: forms } })(times(4_000, () => ({}))), [])
  })

  test('one of many choices is found, however many there are', () => {
    const check = compileSchema({ anyOf: times(2_000, (at) => ({ const: at })) })
    assert.deepEqual([check(1_999), keywordsOf(check(2_000))], [[], ['anyOf']])
  })

  test('a long list of words is no more work than a short one', () => {
    const check = compileSchema({ items: { enum: times(2_000, String) } })
    assert.deepEqual(check(times(50_000, () => '1999')), [])
  })

  test('a part may be called as a keyword that holds values', () => {
    const check = compileSchema({
      $defs: { enum: { type: 'string' }, properties: { type: 'number' } },
      properties: { const: { type: 'null' }, a: { $ref: '#/$defs/enum' }, b: { $ref: '#/properties/const' } },
      additionalProperties: { $ref: '#/$defs/properties' },
    })
    assert.deepEqual(check({ a: 'x', b: null, const: null, more: 1 }), [])
    assert.deepEqual(
      check({ a: 1, b: 1, more: 'x' }).map(({ path }) => path),
      ['/more', '/a', '/b'],
    )
  })

  test('many references by anchor are as many by pointer', () => {
    const properties = members(60, (at) => ({ $ref: `#anchor${at}` }))
    const $defs = members(60, (at) => ({ $anchor: `anchor${at}`, properties: { x: { type: 'string' } } }))
    const check = compileSchema({ properties, $defs })
    assert.deepEqual(
      check({ m7: { x: 1 } }).map(({ path }) => path),
      ['/m7/x'],
    )
  })

  test.each<[string, z.ZodType, Json]>([
    ['base64', z.base64(), 'QUJD'.repeat(150_000)],
    ['emails', z.array(z.email()), times(33_000, (at) => `customer.${at}@mail.example`)],
    ['uuids', z.array(z.uuid()), times(26_000, () => '123e4567-e89b-42d3-a456-426614174000')],
  ])('what fills a whole request is checked: %s', (_, type, value) => {
    const check = compileSchema(z.toJSONSchema(type) as JsonObject)
    assert.deepEqual(check(value), [])
  })

  test('items are unique or not, however many, of whatever kind', () => {
    const check = compileSchema({ uniqueItems: true })
    const items: Json[] = times(12_000, (at) => ({ a: at, b: [at] }))
    assert.deepEqual(check(items), [])
    assert.deepEqual(keywordsOf(check([...items, { b: [7], a: 7 }])), ['uniqueItems'])
    assert.deepEqual(check([1, '1', [1], { a: 1 }, true, null]), [])
    assert.deepEqual(compileSchema({ uniqueItems: false })([1, 1]), [])
  })

  test('no schema can ask to be held against a value later [H-41]', () => {
    assert.deepEqual(keywordsOf(compileSchema({ $async: true, type: 'object' })(1)), ['type'])
    const inner = { $ref: '#/$defs/a', $defs: { a: { $async: true, type: 'object' } } }
    assert.deepEqual(keywordsOf(compileSchema(inner)(1)), ['type'])
  })

  test('a large value that is as it should be passes', () => {
    const row = {
      type: 'object',
      required: ['m0'],
      additionalProperties: false,
      properties: members(10, () => ({ minimum: 0 })),
    }
    assert.deepEqual(compileSchema({ items: row })(times(20_000, () => members(10, (at) => at))), [])
  })
})

/** Problems without their words. */
const placesOf = (problems: readonly SchemaProblem[]) => problems.map(({ path, keyword }) => ({ path, keyword }))

const keywordsOf = (problems: readonly { readonly keyword: string }[]) => problems.map(({ keyword }) => keyword)
