import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import type { JsonObject } from '../../base/object.ts'
import { Steps, StepsSpent } from '../../base/steps.ts'
import { errorsKeptMax, sharedErrors } from './keywords.ts'
import { countSchema, stepsKeyword } from './parts.ts'

const options = { strict: false, inlineRefs: false, messages: false } as const

/** What the plain validator finds, and what it finds where each part shares its errors. */
function errorsOf(schema: JsonObject, value: Json, stepsMax = 1e9) {
  const steps = new Steps()
  steps.allow(stepsMax)
  const share = sharedErrors(steps)
  const ajv = new Ajv2020(options)
  ajv.addKeyword({ keyword: stepsKeyword, before: '$dynamicAnchor', code: ({ gen }) => share(gen) })
  const ours = ajv.compile(countSchema(schema).schema)
  const plain = new Ajv2020(options).compile(schema)
  assert.equal(ours(value), plain(value))
  return { ours: ours.errors ?? [], plain: plain.errors ?? [], left: steps.left }
}

const ones = (count: number): Json[] => Array.from({ length: count }, () => 1)

test.each<[string, JsonObject]>([
  ['in a list', { contains: { type: 'string' } }],
  ['in a list, by reference', { contains: { $ref: '#/$defs/a' }, $defs: { a: { type: 'string' } } }],
  [
    'in several lists, by reference',
    {
      anyOf: [{ $ref: '#/$defs/a' }, { not: {} }, { $ref: '#/$defs/a' }],
      $defs: { a: { contains: { type: 'string' } } },
    },
  ],
])('errors are counted, but only a few of them are kept: %s [H-41]', (_, schema) => {
  const few = errorsOf(schema, ones(20))
  assert.deepEqual(few.ours, few.plain)
  const many = errorsOf(schema, ones(5_000))
  assert.equal(many.ours.length, many.plain.length)
  assert.deepEqual(many.ours.slice(0, errorsKeptMax), many.plain.slice(0, errorsKeptMax))
  assert.deepEqual(many.ours.at(-1), many.plain.at(-1))
  assert.ok(new Set(many.ours).size <= errorsKeptMax + 1)
})

test('errors are carried from a part to where it is referred to at the cost of a step each [H-41]', () => {
  const schema = {
    anyOf: [{ not: {} }, { $ref: '#/$defs/a' }],
    $defs: { a: { anyOf: [{ contains: { type: 'string' } }] } },
  }
  assert.equal(errorsOf(schema, ones(5_000), 10_000).left, 10_000 - 5_002)
  assert.throws(() => errorsOf(schema, ones(5_000), 5_000), StepsSpent)
})
