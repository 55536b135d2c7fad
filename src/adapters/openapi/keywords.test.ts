import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import { compileSchema } from '../../policy/schema/schema.ts'
import type { OpenApi } from './document.ts'
import type { Side } from './keywords.ts'
import { openSchemas } from './schemas.ts'

const given =
  (schemas: Json, version: OpenApi['version'] = '3.1') =>
  (schema: Json, side: Side = 'input') =>
    openSchemas({ root: { components: { schemas } }, version }, side).whole(schema)
const plain = given({})
const plain30 = given({}, '3.0')
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

test.each<[string, Json, Json]>([
  ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
  [
    'nullable with values',
    { type: 'string', enum: ['a'], nullable: true },
    { type: ['string', 'null'], enum: ['a', null] },
  ],
  [
    'nullable over others',
    { allOf: [{ type: 'string' }], nullable: true },
    { anyOf: [{ allOf: [{ type: 'string' }] }, { type: 'null' }] },
  ],
  [
    'bounds left out',
    { type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    { type: 'number', exclusiveMinimum: 1, maximum: 9 },
  ],
  ['what stands beside a reference', { $ref: '#/components/schemas/gone', description: 'x' }, {}],
])('3.0 says it in words of its own: %s [H-90]', (_, schema, expected) => {
  assert.deepEqual(plain30(schema).schema, expected)
})

test.each<[string, Json, Json]>([
  ['several types', { type: ['string', 'null'] }, { type: ['string', 'null'] }],
  ['a bound left out', { exclusiveMinimum: 3 }, { exclusiveMinimum: 3 }],
  [
    'a choice that a member makes',
    { oneOf: [{ type: 'string' }, {}], discriminator: { propertyName: 'kind' } },
    { anyOf: [{ type: 'string' }, {}] },
  ],
  ['a password', { type: 'string', format: 'password' }, { type: 'string', format: 'password', 'x-sensitive': true }],
  ['a pattern, which is not run', { type: 'string', pattern: '^(a+)+$' }, { type: 'string', 'x-pattern': '^(a+)+$' }],
  ['names by a pattern', { patternProperties: { '^x': {} }, additionalProperties: false }, {}],
  ['a tuple of old', { items: [{ type: 'string' }] }, { prefixItems: [{ type: 'string' }] }],
  [
    'keywords that constrain nothing',
    { example: 1, examples: [1], xml: {}, externalDocs: {}, 'x-a': 1, $id: 'b', $schema: 'c', $dynamicRef: '#d' },
    {},
  ],
  [
    'what has another form',
    { type: 'any', required: true, enum: [], minLength: -1, properties: [], items: false, allOf: {} },
    { items: false },
  ],
  ['a reference that leads out', { $ref: 'https://a.example/b.json' }, {}],
  ['a reference that leads nowhere', ref('gone'), {}],
])('%s [H-90]', (_, schema, expected) => {
  assert.deepEqual(plain(schema).schema, expected)
})

test('what is only read is not asked for, and what is only written not expected [H-90]', () => {
  const schemas = { Id: { type: 'string', readOnly: true } }
  const schema = {
    type: 'object',
    properties: { id: ref('Id'), pin: { writeOnly: true }, a: {} },
    required: ['id', 'pin', 'a', 'a'],
  }
  assert.deepEqual(given(schemas)(schema, 'input').schema['required'], ['pin', 'a'])
  assert.deepEqual(given(schemas)(schema, 'form').schema['required'], ['pin', 'a'])
  assert.deepEqual(given(schemas)(schema, 'output').schema['required'], ['id', 'a'])
})

test('a file of a form is base64 with a name [H-90]', () => {
  const file = plain({ type: 'string', format: 'binary' }, 'form').schema
  const check = compileSchema(file as never)
  assert.deepEqual(check({ base64: 'aGVyZQ==', filename: 'a.txt' }), [])
  assert.notDeepEqual(check('text'), [])
  assert.deepEqual(plain({ type: 'string', format: 'binary' }).schema, { type: 'string', format: 'binary' })
})

test('schemas that refer to one another in circles are kept, each once [H-90]', () => {
  const schemas = {
    Node: {
      type: 'object',
      properties: { value: { type: 'number' }, next: ref('Node'), tree: ref('Tree') },
      required: ['value'],
    },
    Tree: { type: 'array', items: ref('Node') },
  }
  const { schema, isCut } = given(schemas)({ type: 'object', properties: { a: ref('Node'), b: ref('Tree') } })
  assert.deepEqual([Object.keys(schema['$defs'] ?? {}), isCut], [['Node', 'Tree'], false])
  const check = compileSchema(schema as never)
  assert.deepEqual(check({ a: { value: 1, next: { value: 2, tree: [{ value: 3 }] } } }), [])
  assert.deepEqual(
    check({ a: { value: 1, tree: [{ next: { value: 'x' } }] } }).map(({ path }) => path),
    ['/a/tree/0', '/a/tree/0/next/value'],
  )
})

test('two schemas of one name have two names [H-90]', () => {
  const root = { components: { schemas: { A: { type: 'string' } } }, other: { A: { type: 'number' } } }
  const { schema } = openSchemas({ root, version: '3.1' }, 'input').whole({ anyOf: [ref('A'), { $ref: '#/other/A' }] })
  assert.deepEqual(schema['$defs'], { A: { type: 'string' }, A_2: { type: 'number' } })
})

test('a schema that applies itself to the same value without end is left open [H-90]', () => {
  const schemas = {
    A: ref('B'),
    B: { allOf: [{ anyOf: [ref('A')] }] },
    C: { properties: { c: ref('C') }, allOf: [ref('A')] },
  }
  for (const name of ['A', 'B', 'C']) {
    const { schema, isCut } = given(schemas)(ref(name))
    assert.deepEqual(compileSchema(schema as never)({ c: { c: 1 } }), [])
    assert(isCut)
  }
})

test('what is too large is left open, nearest first [H-90]', () => {
  const wide = (next: string) => ({
    type: 'object',
    description: 'x'.repeat(900),
    properties: { next: ref(next) },
    required: ['next'],
  })
  const schemas = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`S${index}`, wide(`S${index + 1}`)]))
  const { schema, isCut } = given(schemas)(ref('S0'))
  const size = JSON.stringify(schema).length
  assert(isCut && size > 10_000 && size < 20_000, `${size}`)
  assert.deepEqual((schema['$defs'] as Record<string, object>)['S0'], {
    type: 'object',
    description: 'x'.repeat(900),
    properties: { next: { $ref: '#/$defs/S1' } },
    required: ['next'],
  })
  compileSchema(schema as never)
  const flat = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, index) => [`member_${index}`, { type: 'string', title: 'x'.repeat(20) }]),
  )
  assert.deepEqual(plain({ type: 'object', properties: flat }), { schema: {}, isCut: true })
})

test('whatever stands in the place of a schema, what is made of it is one [H-90]', () => {
  const words = [
    'type',
    'properties',
    'items',
    'allOf',
    'oneOf',
    'not',
    'required',
    'enum',
    'const',
    'minimum',
    'maxLength',
    '$ref',
  ]
  const more = [
    'nullable',
    'pattern',
    'additionalProperties',
    'discriminator',
    'format',
    'prefixItems',
    'if',
    'x-sensitive',
    '$id',
  ]
  const text = fc.constantFrom('string', 'object', '#/components/schemas/A', '#/components/schemas/B', '[', '^(')
  const { node } = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      ...[text, fc.integer(), fc.boolean(), fc.constant(null)],
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...words, ...more, 'a'), tie('node'), { maxKeys: 5 }).map((made) => ({ ...made })),
    ),
  }))
  fc.assert(
    fc.property(
      node,
      node,
      node,
      fc.constantFrom<Side>('input', 'form', 'output'),
      fc.constantFrom('3.0', '3.1'),
      (a, b, root, side, version) => {
        const { schema } = given({ A: a, B: b }, version as OpenApi['version'])(root, side)
        compileSchema(schema as never)({ a: [1, 'x', null] })
      },
    ),
    { numRuns: 300 },
  )
})
