import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Json } from '../base/canonical.ts'
import { type ContextContract, contextContract } from '../model/context.ts'
import { compileContract, deepFreeze, noContext } from './contract.ts'

type Field = ContextContract['fields'][string]

const contractOf = (
  fields: Record<string, Field>,
  example: Record<string, Json>,
  more: Partial<ContextContract> = {},
): ContextContract => ({
  name: 'batch_context',
  version: '1.0.0',
  identifies: 'the batch and why it is needed',
  fields,
  example: example as ContextContract['example'],
  ...more,
})

const text: Field = { source: 'payload:/batch_id', schema: { type: 'string' } }
const sources = { payload: {}, metadata: {}, environment: undefined, host: {} }

test.each([
  ['nothing', {}],
  ['a title alone', { title: 'Anything' }],
  ['a bare object', { type: 'object' }],
  ['an object without members', { type: 'object', properties: {} }],
  ['an object among other types', { type: ['string', 'object'] }],
  ['an array without items', { type: 'array' }],
  ['an array of anything by `true`', { type: 'array', items: true }],
  ['a type that is no text', { type: [7] }],
  ['an enum that is no list', { enum: 'a' }],
] as [string, Record<string, Json>][])('a field whose schema says %s is refused by its name [H-04]', (_, schema) => {
  assert.throws(
    () => compileContract(contractOf({ place: { source: 'payload:/place', schema } }, { place: {} })),
    ({ code, data, message }: { code: string; data: { field: string }; message: string }) =>
      code === 'contract.invalid' && data.field === 'place' && message.includes('`place`'),
  )
})

test.each([
  ['a type', { type: 'string' }, 'a'],
  ['an object with members', { type: 'object', properties: { a: { type: 'string' } } }, { a: 'b' }],
  ['an array with items', { type: 'array', items: { type: 'integer' } }, [1]],
  ['an enum', { enum: ['a', 'b'] }, 'a'],
  ['a const', { const: 7 }, 7],
  ['a const that is null', { const: null }, null],
] as [string, Record<string, Json>, Json][])(
  'a field whose schema says %s is taken [H-03 H-04]',
  (_, schema, value) => {
    const contract = compileContract(contractOf({ place: { source: 'payload:/place', schema } }, { place: value }))
    assert.deepEqual(contract.collect({ ...sources, payload: { place: value } }).value, { place: value })
  },
)

test.each([
  ['without the field', {}],
  ['with a value of another type', { batch_id: 7 }],
  ['with a member that is no field', { batch_id: 'B-1', more: 1 }],
])('an example %s does not pass [H-05]', (_, example) => {
  assert.throws(() => compileContract(contractOf({ batch_id: text }, example as Record<string, Json>)), {
    code: 'contract.invalid',
  })
})

test('an example may leave an optional field out [H-05]', () => {
  assert.doesNotThrow(() => compileContract(contractOf({ batch_id: { ...text, required: false } }, {})))
})

test.each([
  ['name', { name: undefined }],
  ['what it identifies', { identifies: undefined }],
  ['example', { example: undefined }],
])('a contract without %s has no shape [H-05]', (_, without) => {
  const whole = { ...contractOf({ batch_id: text }, { batch_id: 'B' }), ...without }
  assert.equal(contextContract.safeParse(whole).success, false)
})

test('a sensitive field may not have its value kept [H-50]', () => {
  const field: Field = { ...text, sensitive: true, evidence: 'value' }
  assert.throws(() => compileContract(contractOf({ batch_id: field }, { batch_id: 'B' })), { code: 'contract.invalid' })
})

test.each(['subject:/id', 'actor:/id', 'correlation:/baggage', 'payload', 'payload:batch', 'host:', 'env:/HOME'])(
  'no field is taken from %s [H-19]',
  (source) => {
    const whole = contractOf({ batch_id: { ...text, source } }, { batch_id: 'B' })
    assert.equal(contextContract.safeParse(whole).success, false)
  },
)

const everySource = contractOf(
  {
    batch_id: text,
    deep: { source: 'payload:/a~1b/c~0d', schema: { type: 'integer' }, show_to_approver: true },
    purpose: { source: 'metadata:/purpose', schema: { enum: ['routine', 'shortage'] }, evidence: 'value' },
    note: { source: 'metadata:/context/note', schema: { type: 'string' }, required: false, sensitive: true },
    environment: { source: 'correlation:/environment', schema: { enum: ['test', 'prod'] } },
    stock: { source: 'host:stock', schema: { type: 'object', properties: { left: { type: 'integer' } } } },
  },
  { batch_id: 'B', deep: 1, purpose: 'routine', environment: 'test', stock: { left: 1 } },
)

const whole = {
  payload: { batch_id: 'B-7', 'a/b': { 'c~d': 14 } },
  metadata: { purpose: 'shortage', context: { note: 'quiet' } },
  environment: 'prod',
  host: { stock: { left: 3 } },
}

test('every field is taken from its one source, with its state on record [H-03 H-13 H-14]', () => {
  const contract = compileContract(everySource)
  assert.deepEqual(contract.resolvers, ['stock'])
  const { value, fields, missing, problems, undeclared } = contract.collect(whole)
  assert.deepEqual(value, {
    batch_id: 'B-7',
    deep: 14,
    purpose: 'shortage',
    note: 'quiet',
    environment: 'prod',
    stock: { left: 3 },
  })
  assert.deepEqual([missing, problems, undeclared], [[], [], []])
  assert.deepEqual(
    fields.map(({ name, state, sensitive, evidence, shown }) => [name, state, sensitive, evidence, shown]),
    [
      ['batch_id', 'present', false, 'digest', false],
      ['deep', 'present', false, 'digest', true],
      ['purpose', 'present', false, 'value', false],
      ['note', 'present', true, 'digest', false],
      ['environment', 'present', false, 'digest', false],
      ['stock', 'present', false, 'digest', false],
    ],
  )
})

test('what is missing is named, unless it is optional; what is wrong has its place and no value [H-15]', () => {
  const { missing, problems, fields, value } = compileContract(everySource).collect({
    ...sources,
    payload: { batch_id: 7, 'a/b': { 'c~d': 14 } },
    metadata: { purpose: 'whim' },
    host: { stock: { left: 'many' } },
  })
  assert.deepEqual(missing, ['environment'])
  assert.deepEqual(
    problems.map(({ path, keyword, says }) => [path, keyword, says]),
    [
      ['/batch_id', 'type', '`/batch_id` must be a string'],
      ['/purpose', 'enum', '`/purpose` must be one of `routine`, `shortage`'],
      ['/stock/left', 'type', '`/stock/left` must be an integer'],
    ],
  )
  assert.deepEqual(value, { deep: 14 })
  const invalid = fields.filter(({ state }) => state === 'invalid')
  assert.deepEqual(
    invalid.map(({ name, ...rest }) => [name, 'value' in rest]),
    [
      ['batch_id', false],
      ['purpose', false],
      ['stock', false],
    ],
  )
})

test('members of the context that no field is taken from are refused, unless the contract is open [H-16]', () => {
  const given = { ...whole, metadata: { ...whole.metadata, context: { note: 'a', extra: 1, more: 2 } } }
  assert.deepEqual(compileContract(everySource).collect(given).undeclared, ['extra', 'more'])
  assert.deepEqual(compileContract({ ...everySource, closed: false }).collect(given).undeclared, [])
})

test('a field that is the whole context says itself which members there are [H-16]', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
  const contract = compileContract(contractOf({ all: { source: 'metadata:/context', schema } }, { all: { a: 'b' } }))
  const collect = (context: Json) => contract.collect({ ...sources, metadata: { context } })
  assert.deepEqual([collect({ a: 'c' }).undeclared, collect({ a: 'c' }).value], [[], { all: { a: 'c' } }])
  assert.deepEqual(collect({ b: 'c' }).problems, [
    { path: '/all', keyword: 'additionalProperties', says: '`b` is not known in `/all`' },
  ])
})

test('a context that is no object has no members, and a fact of the host is not taken from it [H-16]', () => {
  const contract = compileContract(everySource)
  const given = { ...whole, host: {}, metadata: { purpose: 'routine', context: 'stock', stock: { left: 3 } } }
  assert.deepEqual(contract.collect(given).missing, ['stock'])
  assert.deepEqual(contract.collect(given).undeclared, [])
})

test('members that an object only inherits are not there [H-15]', () => {
  const field: Field = { source: 'payload:/constructor', schema: { type: 'string' } }
  const contract = compileContract(contractOf({ place: field }, { place: 'a' }))
  assert.deepEqual(contract.collect({ ...sources, payload: {} }).missing, ['place'])
  const deep = compileContract(contractOf({ place: { ...field, source: 'payload:/a/length' } }, { place: 'a' }))
  assert.deepEqual(deep.collect({ ...sources, payload: { a: 'text' } }).missing, ['place'])
})

test('the collected value is frozen to its last member [H-18]', () => {
  const { value } = compileContract(everySource).collect(structuredClone(whole))
  assert(Object.isFrozen(value))
  assert.throws(() => Object.assign(value['stock'] as object, { left: 9 }), TypeError)
  assert(Object.isFrozen(noContext) && Object.isFrozen(noContext.value))
})

test('freezing reaches every object of a value, and changes nothing else [H-18]', () => {
  const isFrozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const frozen = deepFreeze(structuredClone(value))
      assert(isFrozen(frozen))
      assert.deepEqual(frozen, value)
    }),
  )
})

test('each declared field is in exactly one state, and only those that are present have a value [H-14]', () => {
  fc.assert(
    fc.property(fc.record({ batch_id: fc.jsonValue(), 'a/b': fc.jsonValue() }, { requiredKeys: [] }), (payload) => {
      const { fields, value } = compileContract(everySource).collect({ ...whole, payload: payload as never })
      assert.deepEqual(fields.map(({ name }) => name).sort(), Object.keys(everySource.fields).sort())
      for (const field of fields) assert.equal(field.state === 'present', Object.hasOwn(value, field.name))
      const { batch_id } = payload as { batch_id?: unknown }
      assert.equal(
        fields[0]?.state,
        batch_id === undefined ? 'absent' : typeof batch_id === 'string' ? 'present' : 'invalid',
      )
    }),
  )
})
