import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import type { JsonObject } from '../../base/object.ts'
import { compileSchema } from './schema.ts'

const name = fc.constantFrom(
  'a',
  'b',
  'enum',
  'const',
  '$ref',
  'properties',
  'x-ambit-steps',
  'const-ructor',
  'to-String',
)
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(0, 1, -1, 1.5, '', 'a', 'ab', '0', '[]', '\ud800', true, false, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value

const count = fc.nat(3)
const names = fc.uniqueArray(name, { maxLength: 3 })
const reference = fc.constantFrom(
  ...['#', '#/$defs/a', '#/$defs/b', '#/$defs/enum', '#/$defs/const', '#/$defs/properties', '#/$defs/x-ambit-steps'],
  ...['#/properties/a', '#/properties/enum', '#/allOf/0', '#/not', '#a', '#b'],
)

const schema = fc.letrec<{ part: JsonObject | boolean }>((tie) => {
  const part = tie('part')
  const parts = fc.array(part, { minLength: 1, maxLength: 3 })
  const map = fc.dictionary(name, part, { maxKeys: 3, noNullPrototype: true })
  // Of what contains any item at all, the plain validator forgets that it has looked at them.
  const some = part.map((one) => (one === false ? one : { allOf: [one] }))
  const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'object', 'array')
  const keywords = {
    ...{ type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })), const: value },
    ...{ enum: fc.array(value, { minLength: 1, maxLength: 4 }), uniqueItems: fc.boolean() },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    ...{ not: part, allOf: parts, anyOf: parts, oneOf: parts, if: part, then: part, else: part },
    ...{ properties: map, patternProperties: map, additionalProperties: part, propertyNames: part },
    ...{
      dependentSchemas: map,
      dependentRequired: fc.dictionary(name, names, { maxKeys: 2, noNullPrototype: true }),
      required: names,
    },
    ...{ items: part, prefixItems: parts, contains: some, minContains: count, maxContains: count },
    ...{ unevaluatedProperties: part, unevaluatedItems: part, minProperties: count, maxProperties: count },
    ...{
      minItems: count,
      maxItems: count,
      minLength: count,
      maxLength: count,
      minimum: count,
      multipleOf: fc.constant(2),
    },
    ...{ $ref: reference, default: value, title: fc.constant('t') },
  }
  const single = Object.entries(keywords).map(([key, made]) =>
    (made as fc.Arbitrary<unknown>).map((of) => ({ [key]: of })),
  )
  const object = fc
    .array(fc.oneof({ depthSize: 'small', withCrossShrink: true }, fc.constant({}), ...single), { maxLength: 5 })
    .map((members) => Object.assign({}, ...members) as JsonObject)
  return { part: fc.oneof({ depthSize: 'small' }, fc.boolean(), object) }
}).part

const whole = fc
  .record({
    root: schema,
    a: schema,
    b: schema,
    more: fc.dictionary(name, schema, { maxKeys: 3, noNullPrototype: true }),
  })
  .map(({ root, a, b, more }): JsonObject => {
    const named = (part: JsonObject | boolean, $anchor: string) =>
      typeof part === 'boolean' ? part : { ...part, $anchor }
    return {
      ...(root === true || root === false ? { not: root } : root),
      $defs: { ...more, a: named(a, 'a'), b: named(b, 'b') },
    }
  })

test('what is counted is decided as the plain validator decides it [H-41]', () => {
  fc.assert(
    fc.property(whole, fc.array(value, { minLength: 4, maxLength: 8 }), (any, values) => {
      const plain = attempt(() => new Ajv2020(options).compile(any))
      const ours = attempt(() => compileSchema(renamed(any)))
      // What leads back to itself.
      if (plain instanceof RangeError) return
      if (plain instanceof Error) return assert.ok(ours instanceof Error)
      for (const each of values) {
        const expected = attempt((): unknown => plain(each))
        if (ours instanceof Error) assert.match(ours.message, /leads back to itself/)
        // Ours does not look at what cannot matter, such as choices beside one that always fits, where the plain one goes
        // round in circles or runs code that names what is not there.
        else if (!(expected instanceof Error))
          assert.equal(ours(renamed(each)).length === 0, expected === true, JSON.stringify(each))
      }
    }),
    { numRuns: 1_000 },
  )
})

/** The same with names that all objects know, of which the plain validator thinks that they are there. */
const renamed = <T extends Json>(value: T): T =>
  JSON.parse(JSON.stringify(value).replaceAll('const-ructor', 'constructor').replaceAll('to-String', 'toString'))

const options = { strict: false, logger: false, meta: false, validateSchema: false } as const

function attempt<T>(work: () => T): T | Error {
  try {
    return work()
  } catch (error) {
    return error as Error
  }
}
