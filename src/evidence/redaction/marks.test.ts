import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { DataValidateFunction } from 'ajv/dist/types/index.js'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import { marksOf } from './marks.ts'
import { redact } from './redact-values.ts'

const secret = { type: 'string', 'x-sensitive': true }
const hidden = '[redacted]'
const seen = (schema: Json, value: Json, more: object = {}): Json =>
  redact(value, marksOf({ schema, ...more }), [], () => false).value
const isNamed = (name: string) => name === 'password'

test('marks of a capability are the `x-sensitive` places of its schema, in every kind of subschema [H-69 H-50]', () => {
  const value = { a: 'x', b: 'y', 'c/d': 'z' }
  const properties = { a: secret, b: { type: 'string', 'x-sensitive': false }, 'c/d': secret }
  assert.deepEqual(seen({ properties }, value), { a: hidden, b: 'y', 'c/d': hidden })
  assert.deepEqual(seen(secret, value), hidden)
  const inner = { properties: { a: secret } }
  for (const name of ['allOf', 'anyOf', 'oneOf'])
    assert.deepEqual(seen({ [name]: [{}, inner] }, { a: 1, b: 2 }), { a: hidden, b: 2 }, name)
  for (const name of ['not', 'if', 'then', 'else'])
    assert.deepEqual(seen({ [name]: inner }, { a: 1, b: 2 }), { a: hidden, b: 2 }, name)
  for (const name of ['dependentSchemas', 'dependencies'])
    assert.deepEqual(seen({ [name]: { b: inner, c: ['d'] } }, { a: 1, b: 2 }), { a: hidden, b: 2 }, name)
  for (const name of ['items', 'contains', 'unevaluatedItems'])
    assert.deepEqual(seen({ [name]: inner }, [{ a: 1, b: 2 }]), [{ a: hidden, b: 2 }], name)
  assert.deepEqual(seen({ prefixItems: [{}, secret] }, ['x', 'y']), [hidden, hidden])
  assert.deepEqual(seen({ items: false, additionalProperties: true, properties: 7 as never }, value), value)
})

test('marks of a capability reach below members that have any name [H-69 H-71]', () => {
  const person = { properties: { ssn: secret } }
  for (const name of ['additionalProperties', 'unevaluatedProperties']) {
    assert.deepEqual(seen({ [name]: secret }, { a: 1 }), { a: hidden }, name)
    const people = { properties: { people: { [name]: person } } }
    const value = { people: { ida: { ssn: '1', age: 2 }, jo: { ssn: '3' } }, ssn: '4' }
    assert.deepEqual(seen(people, value), { people: { ida: { ssn: hidden, age: 2 }, jo: { ssn: hidden } }, ssn: '4' })
  }
  const lists = { patternProperties: { '^p_': { additionalProperties: { items: person } } } }
  assert.deepEqual(seen(lists, { p_a: { x: [{ ssn: '1', n: 2 }] } }), { p_a: { x: [{ ssn: hidden, n: 2 }] } })
})

test('marks of names hide what has them, and marks of what a text holds hide the text [H-69 H-71]', () => {
  const byMail = { additionalProperties: { propertyNames: { allOf: [secret] } } }
  assert.deepEqual(seen(byMail, { staff: { 'ida@home.example': 1 } }), { staff: hidden })
  const record = { properties: { a: secret }, additionalProperties: { propertyNames: { pattern: '^[a-z]+$' } } }
  assert.deepEqual(seen(record, { a: 'x', b: { c: 1 } }), { a: hidden, b: { c: 1 } })
  const textOf = (contentSchema: Json) => ({ $defs: { secret, open: {} }, properties: { text: { contentSchema } } })
  const within: Json[] = [{ items: { properties: { a: secret } } }, { properties: { 'x-sensitive': secret } }]
  for (const inner of [secret, ...within, { items: { $ref: '#/$defs/secret' } }])
    assert.deepEqual(seen(textOf(inner), { text: '["x"]' }), { text: hidden })
  for (const inner of [{ type: 'object' }, { items: { $ref: '#/$defs/open' } }])
    assert.deepEqual(seen(textOf(inner), { text: '["x"]' }), { text: '["x"]' })
})

test('marks under a pattern are those of the names that fit it, or may [H-69 H-50]', () => {
  const value = { amount: 5, note_to: 'x', to_note: 'y', note: 'z' }
  const under = (pattern: string) => {
    const schema = { properties: { amount: {} }, patternProperties: { [pattern]: secret } }
    return Object.entries(seen(schema, value) ?? {}).flatMap(([name, each]) => (each === hidden ? [name] : []))
  }
  assert.deepEqual(under('^note_'), ['note_to'])
  assert.deepEqual(under('^note$'), ['note'])
  assert.deepEqual(under('^not\\.'), [])
  for (const unsure of ['note', '_note$', '', '^no.e', '^(x|a)', '^x|y$', 'a\\w'])
    assert.deepEqual(under(unsure), Object.keys(value), unsure)
})

test('marks of all other members are not those of members that have a name or fit a pattern [H-69 H-50]', () => {
  const schema = {
    properties: { amount: {}, to: {} },
    patternProperties: { '^x-': {}, '^y.': {} },
    additionalProperties: secret,
  }
  const value = { amount: 5, to: 'x', 'x-a': 1, y1: 2, z: 3 }
  assert.deepEqual(seen(schema, value), { amount: 5, to: 'x', 'x-a': 1, y1: hidden, z: hidden })
  assert.deepEqual(seen({ allOf: [schema, { properties: { z: {} } }] }, { z: 3 }), { z: hidden })
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`^n${index}_`, secret]))
  assert.deepEqual(seen({ properties: { a: {} }, patternProperties: many }, { a: 1, n39_: 2 }), {
    a: hidden,
    n39_: hidden,
  })
})

test('marks of a capability follow references inside the schema [H-69 H-50]', () => {
  const $defs = {
    person: { $anchor: 'who', properties: { name: secret } },
    'a/b': secret,
    'c d%': secret,
    open: { $dynamicAnchor: 'open', properties: { name: secret } },
  }
  const value = { x: { name: 'Ida', age: 7 }, y: 1 }
  const below = (inner: Json) => seen({ $defs, properties: { x: inner } }, value)
  for (const $ref of ['#/$defs/person', '#/%24defs/person', '#who', '#open', '#/$defs/open'])
    assert.deepEqual(below({ $ref }), { x: { name: hidden, age: 7 }, y: 1 }, $ref)
  for (const $ref of ['#/$defs/a~1b', '#/$defs/a%2Fb', '#/$defs/c%20d%25'])
    assert.deepEqual(below({ $ref }), { x: hidden, y: 1 }, $ref)
  for (const keyword of ['$dynamicRef', '$recursiveRef'])
    assert.deepEqual(below({ [keyword]: '#/$defs/person' }), { x: { name: hidden, age: 7 }, y: 1 }, keyword)
})

test('marks of a capability follow references by the ids of the parts of a schema [H-69 H-50]', () => {
  const inner = {
    $id: 'inner',
    properties: { a: { $ref: '#/$defs/it' }, b: { $ref: 'root#/$defs/it' } },
    $defs: { it: secret },
  }
  const schema = { $id: 'https://ambit.example/root', $defs: { inner, it: {} }, properties: { x: { $ref: 'inner' } } }
  assert.deepEqual(seen(schema, { x: { a: 1, b: 2 } }), { x: { a: hidden, b: 2 } })
  const whole = { ...schema, properties: { x: { $ref: 'https://ambit.example/inner#' } } }
  assert.deepEqual(seen(whole, { x: { a: 1, b: 2 } }), { x: { a: hidden, b: 2 } })
  const dynamic = { ...schema, properties: { x: { $dynamicRef: '#/$defs/it' } } }
  assert.deepEqual(seen(dynamic, { x: 1, y: 2 }), { x: hidden, y: 2 })
})

test('marks of a capability hide the whole of what cannot be looked into, if anything is marked at all [H-69 H-50]', () => {
  const lost = ['https://elsewhere/x', '#/$defs/absent', '#anchor', '#/%zz', '#twice', 'http://[']
  const $defs = { one: { $anchor: 'twice' }, other: { $anchor: 'twice' } }
  for (const $ref of lost) {
    const value = { a: 1, b: { c: 2 }, d: 3 }
    assert.deepEqual(
      seen({ $defs, properties: { a: secret, b: { $ref } } }, value),
      { a: hidden, b: hidden, d: 3 },
      $ref,
    )
    assert.deepEqual(seen({ $defs, properties: { b: { $ref } } }, value), value)
    assert.deepEqual(seen({ $defs, properties: { b: { $ref } } }, value, { isNamed }), { a: 1, b: hidden, d: 3 })
  }
})

test('marks of a schema that leads back to itself are found at every depth [H-69 H-50]', () => {
  const tree = { properties: { name: secret, password: {}, child: { $ref: '#' } } }
  const value = {
    name: 'a',
    password: 'p',
    n: 1,
    child: { name: 'b', n: 2, child: { name: 'c', password: 'q', n: 3 } },
  }
  const shown = (password: Json) => ({
    name: hidden,
    password,
    n: 1,
    child: { name: hidden, n: 2, child: { name: hidden, password: password === 'p' ? 'q' : password, n: 3 } },
  })
  assert.deepEqual(seen(tree, value), shown('p'))
  assert.deepEqual(seen(tree, value, { isNamed }), shown(hidden))
  assert.deepEqual(seen({ $ref: '#', 'x-other': secret }, { a: 1 }), { a: 1 })
})

test('marks by name are those of names that the schema declares, wherever it does [H-59]', () => {
  const named = { properties: { password: {} } }
  const schema = {
    $defs: { a: { $anchor: 'a', ...named } },
    properties: { x: { $ref: '#a' }, y: { additionalProperties: named }, z: { required: ['password'] } },
    dependencies: { x: named },
  }
  const inner = { password: 'p', other: 'o' }
  const safe = { password: hidden, other: 'o' }
  const value = { ...inner, x: inner, y: { any: inner }, z: inner, w: inner }
  assert.deepEqual(seen(schema, value, { isNamed }), { ...safe, x: safe, y: { any: safe }, z: safe, w: inner })
})

test('marks are found in no more steps than a schema has places, however many ways lead there [H-69]', () => {
  const both = ($ref: string) => ({ properties: { a: { $ref }, b: { $ref } } })
  const links = Array.from({ length: 60 }, (_, index) => [`d${index}`, both(`#/$defs/d${index + 1}`)])
  const schema = { $defs: { ...Object.fromEntries(links), d60: secret }, $ref: '#/$defs/d0' }
  const nested = (depth: number): Json => (depth === 0 ? { c: 'x' } : { a: nested(depth - 1) })
  assert.match(JSON.stringify(seen(schema, nested(60))), /\{"a":"\[redacted\]"\}/)
  assert.deepEqual(seen(schema, nested(59)), nested(59))
})

test('of a schema with more places than can be looked at, what is left is hidden [H-69]', () => {
  // Which of the last names were `a` is another place for every way to answer.
  const $defs = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [
      `d${index}`,
      { properties: { a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } } },
    ]),
  )
  const root = { properties: { a: { allOf: [{ $ref: '#' }, { $ref: '#/$defs/d0' }] }, b: { $ref: '#' } } }
  const schema = { ...root, $defs: { ...$defs, d20: secret } }
  const nested = (depth: number): Json => (depth === 0 ? 1 : { a: nested(depth - 1), b: nested(depth - 1) })
  const text = JSON.stringify(seen(schema, nested(15)))
  assert(text.includes(hidden))
  assert.deepEqual(seen(schema, { b: { b: { b: 1 } } }), { b: { b: { b: 1 } } })
})

test('marks of a capability include what the context contract names [H-69 H-50]', () => {
  const value = { a: 1, consignee: 2, lines: [{ to: 3, n: 4 }, { to: 5 }], b: { c: { d: 6 } } }
  const pointers = ['/consignee', '/lines/0/to', '/b/*/d', '/absent/x']
  assert.deepEqual(seen({ properties: { a: secret } }, value, { pointers }), {
    a: hidden,
    consignee: hidden,
    lines: [{ to: hidden, n: 4 }, { to: hidden }],
    b: { c: { d: hidden } },
  })
})

test('marks of a capability are everything from confidential up, and for an unknown class [H-69 H-50]', () => {
  const all = (classification?: string) => marksOf({ schema: {}, ...(classification && { classification }) }).all
  assert.deepEqual([all(), all('public'), all('Internal')], [false, false, false])
  assert.deepEqual([all('confidential'), all('restricted'), all('secret'), all('purple')], [true, true, true, true])
})

const names = fc.constantFrom('a', 'b', 'ab')
const refs = fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#b', '#/%24defs/a', 'part', 'part#/$defs/b', 'part#b')
const { schema: anySchema } = fc.letrec<{ schema: Json }>((tie) => {
  const one = (...keywords: string[]) => fc.dictionary(fc.constantFrom(...keywords), tie('schema'), { maxKeys: 1 })
  const members = fc.dictionary(names, tie('schema'), { maxKeys: 2 })
  const parts = fc.tuple(
    one('not', 'if', 'items', 'contains', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'),
    fc.dictionary(
      fc.constantFrom('anyOf', 'allOf', 'prefixItems'),
      fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
    ),
    fc.dictionary(fc.constantFrom('properties', 'dependentSchemas', 'dependencies'), members, { maxKeys: 1 }),
    fc.dictionary(fc.constant('patternProperties'), fc.dictionary(fc.constantFrom('^a', '^b$', 'b'), tie('schema'))),
    fc.dictionary(fc.constant('$ref'), refs, { maxKeys: 1 }),
  )
  const schema = parts.map((all) => Object.assign({ 'x-step': true }, ...all) as Json)
  return { schema: fc.oneof({ maxDepth: 2 }, fc.constantFrom<Json>(secret, {}, true, false), schema) }
})
const { value: anyValue } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>(1, 'x'),
    fc.dictionary(names, tie('value'), { maxKeys: 3 }),
    fc.array(tie('value'), { maxLength: 2 }),
  ),
}))

/** The places at which a value is held against a part that is marked: in the first thousand steps, as some lead back. */
function markedPlaces(schema: Json, value: Json): string[] {
  const places = new Set<string>()
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, inlineRefs: false })
  const mark: DataValidateFunction = (_, at) => places.add(at?.instancePath ?? '') !== undefined
  let left = 1000
  const step = (): boolean => {
    if (left-- === 0) throw new Error('enough')
    return true
  }
  ajv.addKeyword({ keyword: 'x-sensitive', compile: () => mark })
  ajv.addKeyword({ keyword: 'x-step', compile: () => step })
  try {
    ajv.compile(schema as object)(value)
  } catch {
    // It refers to nothing, or took too many steps.
  }
  return [...places]
}

test('whatever a validator holds against a marked part of a schema is hidden [H-69 H-71]', () => {
  const documents = fc.tuple(anySchema, anySchema, anySchema, anySchema).map(([top, a, b, inner]): Json => {
    const withMembers = (schema: Json, more: object): Json => ({
      ...(typeof schema === 'object' ? schema : {}),
      ...more,
    })
    const part = withMembers(inner, { $id: 'part', $defs: { b: withMembers(a, { $anchor: 'b' }) } })
    return JSON.parse(JSON.stringify(withMembers(top, { $defs: { a, b: withMembers(b, { $anchor: 'b' }), part } })))
  })
  let found = 0
  fc.assert(
    fc.property(documents, anyValue, (schema, value) => {
      const shown = seen(schema, value)
      for (const place of markedPlaces(schema, value)) {
        let node: unknown = shown
        for (const name of place.split('/').slice(1)) node = node === hidden ? node : (node as never)[name]
        assert.equal(node, hidden, place)
        found += 1
      }
    }),
  )
  assert(found > 0)
})
