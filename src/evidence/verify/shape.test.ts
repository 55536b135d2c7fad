import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { z } from 'zod'
import { hostIdentity, storyBundle } from '../../../test/support/evidence.ts'
import { tamperings } from '../../../test/support/evidence-tamper.ts'
import { callRecord, foreignBundle, foreignEvent } from '../../model/evidence.ts'
import { sameJson } from '../json.ts'
import { predicateOf } from './shape.ts'

const bundle = storyBundle()

function agree(schema: z.ZodType, value: unknown): boolean {
  const accepted = schema.safeParse(value).success
  assert.equal(predicateOf(schema)(value), accepted, JSON.stringify(value)?.slice(0, 300))
  return accepted
}

test('the fast predicate agrees with the schema it is made from on good events, records and bundles [F-06 F-09]', () => {
  assert.equal(agree(foreignBundle, bundle), true)
  for (const event of bundle.events) {
    assert.equal(agree(foreignEvent, event), true)
    assert.equal(agree(callRecord, Reflect.get(event.payload, 'decision')), true)
  }
})

test('the fast predicate agrees with the schema it is made from on each of them touched in one place [F-06 F-09]', () => {
  const event = predicateOf(foreignEvent)
  const record = predicateOf(callRecord)
  const count = { accepted: 0, refused: 0 }
  const compare = (schema: z.ZodType, test: (value: unknown) => boolean, value: unknown, where: string) => {
    const accepted = schema.safeParse(value).success
    assert.equal(test(value), accepted, where)
    count[accepted ? 'accepted' : 'refused']++
  }
  for (const [index, item] of bundle.events.entries()) {
    for (const { value, kind, path } of tamperings(item))
      compare(foreignEvent, event, value, `${index} ${kind} ${path}`)
    for (const { value, kind, path } of tamperings(Reflect.get(item.payload, 'decision'))) {
      compare(callRecord, record, value, `${index} ${kind} ${path}`)
    }
  }
  assert.equal(count.accepted > 500 && count.refused > 1000, true)
  const shell = { ...bundle, events: bundle.events.slice(0, 1), host_identity: hostIdentity() }
  const isBundle = predicateOf(foreignBundle)
  for (const { value, kind, path } of tamperings(shell)) {
    if (path[0] !== 'events') compare(foreignBundle, isBundle, value, `${kind} ${path}`)
  }
})

test('the fast predicate agrees with the schema it is made from on every kind of schema we use, and on any JSON at all [F-06 F-09]', () => {
  const schemas: z.ZodType[] = [
    z.string(),
    z.string().min(2),
    z.string().max(3),
    z.string().regex(/^a+$/u),
    z.string().regex(/^a*$/u).min(2),
    z.string().nullable(),
    z.int().min(2).nullable(),
    z.string().regex(/^a+$/u).nullable(),
    z.int().min(0),
    z.int().max(3),
    z.number(),
    z.number().min(-1).max(1),
    z.boolean(),
    z.null(),
    z.literal('x'),
    z.literal(true),
    z.enum(['a', 'b']),
    z.union([z.string(), z.int(), z.null()]),
    z.array(z.string()).min(1),
    z.record(z.string(), z.int()),
    z.record(z.string().min(2), z.int()),
    z.tuple([z.string()]),
    z.looseObject({}),
    z.looseObject({ a: z.string() }),
    z.strictObject({ a: z.string(), b: z.unknown().optional() }),
    z.unknown(),
  ]
  for (const schema of schemas) {
    const test = predicateOf(schema)
    fc.assert(
      fc.property(
        fc.oneof(
          // The strict reader lets no such member in, and Zod drops it from records.
          fc.jsonValue().filter((value) => !JSON.stringify(value).includes('"__proto__"')),
          fc.constantFrom('a', 'b', 'aa', 'x', 0, 3, 4, -1, 0.5, {}, { a: 'x' }, { a: 'x', b: 1 }, ['a']),
        ),
        (value) => assert.equal(test(value), schema.safeParse(value).success),
      ),
      { numRuns: 300 },
    )
  }
})

test('the fast predicate agrees with the schema it is made from, and refuses to guess at a schema it does not know [F-06 F-09]', () => {
  assert.throws(() => predicateOf(z.date())('2026-01-01'), /cannot be represented/)
})

test('two JSON values are the same when their members are, in whatever order [F-09]', () => {
  const same: [unknown, unknown][] = [
    [
      { a: 1, b: [1, { c: null }] },
      { b: [1, { c: null }], a: 1 },
    ],
    [[], []],
    [{}, {}],
    [null, null],
    ['x', 'x'],
  ]
  const different: [unknown, unknown][] = [
    [{ a: 1 }, { a: 2 }],
    [{ a: null }, {}],
    [{}, { a: undefined }],
    [{ a: 1 }, { b: 1 }],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], [1, 2]],
    [[], {}],
    [{}, []],
    [null, {}],
    [{}, null],
    [0, '0'],
    [{ toString: 1 }, { a: 1 }],
  ]
  for (const [a, b] of same) assert.equal(sameJson(a, b), true)
  for (const [a, b] of different) assert.equal(sameJson(a, b), false, JSON.stringify([a, b]))
})
