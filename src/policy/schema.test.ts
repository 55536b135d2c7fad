import assert from 'node:assert/strict'
import { test } from 'vitest'
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
  assert.deepEqual(check({ batch_id: 'secret-value', minutes: -1 }), [
    { path: '/batch_id', keyword: 'pattern' },
    { path: '/minutes', keyword: 'minimum' },
  ])
  assert.deepEqual(check({ batch_id: 'B-204417', minutes: 1, more: 'secret-value' }), [
    { path: '', keyword: 'additionalProperties' },
  ])
  assert.deepEqual(check({ batch_id: 'B-204417', minutes: 1, 'odd/name': 7 }), [
    { path: '/odd~1name', keyword: 'type' },
  ])
  assert.deepEqual(check([]), [{ path: '', keyword: 'type' }])
})

test('a value against a JSON Schema reports no more than anyone reads [H-41 H-71]', () => {
  const check = compileSchema({ type: 'array', items: { type: 'string' } })
  assert.equal(check(Array.from({ length: 100 }, () => 1)).length, 32)
  assert.equal(check([1]).length, 1)
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

test('a schema that is none is refused, and so is one that reaches outside [H-41 H-71]', () => {
  for (const bad of [{ type: 'nothing' }, { $ref: 'https://elsewhere/x.json' }, { pattern: '(' }, { required: 'a' }]) {
    assert.throws(() => compileSchema(bad), { code: 'field.invalid' })
  }
})

test('a schema that is compiled later answers as one that is compiled now, and one of no use refuses everything [H-41]', () => {
  const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }
  for (const value of [{}, { a: 1 }, { a: 'x' }, [], null])
    assert.deepEqual(compileLater(schema)(value), compileSchema(schema)(value))
  assert.throws(() => compileLater({ type: 7 }), { code: 'field.invalid' })
  const check = compileLater({ $ref: 'https://elsewhere.example/schema' })
  assert.deepEqual([check({}), check({})], [[{ path: '', keyword: 'schema' }], [{ path: '', keyword: 'schema' }]])
})
