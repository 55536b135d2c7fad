import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import { problemText } from './problems.ts'
import { compileSchema } from './schema.ts'

const said = (schema: object, value: Json): string => problemText(compileSchema({ ...schema })(value))
const within = (schema: object, value: Json): string => said({ properties: { a: schema } }, { a: value })

describe('what is wrong with a value is said in a sentence, without the value [H-41 H-71]', () => {
  const file = {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: { path: { type: 'string' }, limit: { type: 'integer', maximum: 100 }, mode: { enum: ['r', 'rw'] } },
  }

  test.each<[string, Json, string]>([
    ['a name that is missing', {}, '`path` is missing'],
    ['a name that is misspelt', { pth: 'x' }, '`path` is missing; `pth` is not known (did you mean `path`?)'],
    ['a name like none', { path: 'x', colour: 1 }, '`colour` is not known'],
    ['a name like one that is there', { path: 'x', pathe: 1 }, '`pathe` is not known'],
    ['several things', { path: 1, limit: 101 }, '`/path` must be a string; `/limit` must be at most 100'],
    ['a word that is not on the list', { path: 'x', mode: 'hunter2' }, '`/mode` must be one of `r`, `rw`'],
    ['something else altogether', [], 'it must be an object'],
  ])('%s', (_, value, sentence) => {
    assert.equal(said(file, value), sentence)
  })

  test.each<[object, Json, string]>([
    [{ required: ['b'] }, {}, '`b` is missing in `/a`'],
    [{ dependentRequired: { b: ['c'] } }, { b: 1 }, '`c` is missing in `/a`, as `b` is there'],
    [
      { properties: { bcd: {} }, unevaluatedProperties: false },
      { bc: 1 },
      '`bc` is not known in `/a` (did you mean `bcd`?)',
    ],
    [{ propertyNames: { pattern: '^x' } }, { b: 1 }, '`b` is not allowed as a name in `/a`'],
    [{ type: ['string', 'null'] }, 1, '`/a` must be a string or null'],
    [
      { anyOf: [{ type: 'string' }, { type: 'array' }, { $ref: '#/$defs/n' }] },
      1,
      '`/a` must be a string or an array or null',
    ],
    [{ oneOf: [{ minimum: 5 }, { const: 3 }] }, 1, '`/a` fits none of the forms that are allowed'],
    [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, '`/a` fits more than one of its forms, where one is allowed'],
    [{ const: 'x' }, 'hunter2', '`/a` must be `x`'],
    [{ enum: [1, null, { b: 2 }] }, 'hunter2', '`/a` must be one of `1`, `null`, `{"b":2}`'],
    [{ enum: [...'abcdefghij'] }, 'hunter2', '`/a` must be one of `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h` and 2 more'],
    [{ minimum: 2 }, 1, '`/a` must be at least 2'],
    [{ exclusiveMinimum: 2 }, 2, '`/a` must be greater than 2'],
    [{ exclusiveMaximum: 2 }, 2, '`/a` must be less than 2'],
    [{ multipleOf: 3 }, 2, '`/a` must be a multiple of 3'],
    [{ minLength: 9 }, 'hunter2', '`/a` must have at least 9 characters'],
    [{ maxLength: 1 }, 'hunter2', '`/a` must have at most 1 character'],
    [{ pattern: '^x$' }, 'hunter2', '`/a` must match the pattern `^x$`'],
    [{ minItems: 2 }, [1], '`/a` must have at least 2 items'],
    [{ maxItems: 1 }, [1, 2], '`/a` must have at most 1 item'],
    [{ prefixItems: [{}], items: false }, [1, 2], '`/a` must have at most 1 item'],
    [{ prefixItems: [{}], unevaluatedItems: false }, [1, 2], '`/a` has more items than are known'],
    [{ uniqueItems: true }, [1, 1], '`/a` must not have the same item twice'],
    [{ contains: { const: 3 } }, [1], '`/a` has too few or too many items of the kind that is asked for'],
    [{ minProperties: 1 }, {}, '`/a` must have at least 1 member'],
    [{ maxProperties: 1 }, { b: 1, c: 1 }, '`/a` must have at most 1 member'],
    [{ not: { type: 'number' } }, 1, '`/a` is what the schema rules out'],
    [{ properties: { b: false } }, { b: 1 }, '`/a/b` is not allowed'],
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    [{ if: { type: 'number' }, then: { minimum: 3 } }, 1, '`/a` must be at least 3'],
    [{ items: { required: ['b'] } }, [{}, {}], '`b` is missing in `/a/0`; `b` is missing in `/a/1`'],
  ])('%j', (schema, value, sentence) => {
    const all = { $defs: { n: { type: 'null' } }, properties: { a: schema } }
    assert.equal(said(all, { a: value }), sentence)
  })

  test('a handful is told, and how many more there are', () => {
    const required = [...'abcdefg']
    assert.equal(
      said({ required }, {}),
      '`a` is missing; `b` is missing; `c` is missing; `d` is missing; `e` is missing; and 2 more',
    )
  })

  test('names and words of others are short, on one line, and cannot leave their quotes', () => {
    const name = `a\`\n${'x'.repeat(200)}`
    const cut = `\`a\\u{60}\\u{a}${'x'.repeat(36)}…\``
    assert.equal(said({ required: [name] }, {}), `${cut} is missing`)
    assert.equal(said({ additionalProperties: false }, { [name]: 1 }), `${cut} is not known`)
    assert.equal(within({ enum: [name, 'b'] }, 1), `\`/a\` must be one of ${cut}, \`b\``)
  })

  test('where to find everything takes too long, the first is told', () => {
    const value = Array.from({ length: 50_000 }, () => 1)
    assert.equal(said({ items: { type: 'string' } }, value), '`/0` must be a string')
  })

  test('why a schema cannot be used, and that a value takes too long', () => {
    assert.throws(() => compileSchema({ pattern: '(a)\\1' }), /: the pattern .* refers back to what it found$/)
    assert.throws(() => compileSchema({ $ref: '#' }), /: it is nested too deeply, or leads back to itself$/)
    const properties = Object.fromEntries(Array.from({ length: 1_400 }, (_, at) => [`m${at}`, { type: 'string' }]))
    assert.throws(() => compileSchema({ properties }), /: it has too many members or choices in one place$/)
    const nested = Array.from({ length: 40 }).reduce<Json>((inner) => ({ x: inner }), {})
    const twice = { properties: { x: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } }
    assert.equal(said(twice, nested), 'to check it takes too many steps')
    const endless = { properties: { x: { $ref: '#/$defs/y' } }, $defs: { y: { $ref: '#/$defs/y' } } }
    assert.equal(said(endless, { x: 1 }), 'to check it the schema goes too deep')
  })
})
