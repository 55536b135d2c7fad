import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { afterAll, describe, test } from 'vitest'
import { z } from 'zod'
import { type SchemaNode, valuesOf } from '../../test/support/arbitrary.ts'
import { type Mutation, mutationsOf } from '../../test/support/arbitrary-mutations.ts'
import { sweep } from '../../test/support/sweep.ts'
import type { Json } from '../base/canonical.ts'
import { Failure, problem } from '../base/failure.ts'
import { problemsOf } from './parse.ts'
import { contracts, jsonSchemaOf, listSchemas } from './schemas.ts'

const casesPerShape = sweep(100, 400)

describe('Zod and the exported JSON Schema give the same verdict [F-06]', () => {
  const table: string[] = []
  const tried = new Set<string>()

  for (const [name, { schema }] of Object.entries(contracts)) {
    test(name, () => {
      const compared = compare(schema, jsonSchemaOf(name))
      assert.deepEqual(compared.differences, [])
      assert(compared.zod.valid >= casesPerShape / 4 && compared.zod.invalid >= casesPerShape / 8)
      assert(compared.zod.valid + compared.zod.invalid >= casesPerShape * 0.75)
      table.push(`${name.padEnd(30)} ${shown(compared.zod)} ${shown(compared.ajv)}`)
      for (const change of compared.changes) tried.add(change)
    })
  }

  test('every kind of change was tried', () => {
    assert.deepEqual([...tried].sort(), [
      'array too long',
      'array too short',
      'astral length at a limit',
      'empty text',
      'length at a limit',
      'not the constant',
      'null where not nullable',
      'odd member name',
      'optional member removed',
      'other case',
      'out of enum',
      'out of range',
      'pattern-breaking',
      'required member removed',
      'too long',
      'too short',
      'unchanged',
      'unknown member in a closed object',
      'unknown member in an open object',
      'wrong type',
    ])
  })

  afterAll(() => console.log(['shape (valid/invalid)               zod      ajv', ...table].join('\n')))
})

test('the comparison sees lengths counted in UTF-16 units, other patterns, hidden rules and changed values [F-06]', () => {
  const parting = [
    z.strictObject({ text: z.string().regex(/^[^a]{1,40}$/) }),
    z.strictObject({ text: z.string().regex(/^[a-z]$/iu) }),
    z.strictObject({ text: z.string().refine((text) => text.length % 2 === 0) }),
    z.strictObject({ text: z.string().trim() }),
    z.object({ text: z.boolean() }),
  ]
  for (const schema of parting) {
    assert.notDeepEqual(compare(schema, z.toJSONSchema(schema, { io: 'input' }) as SchemaNode).differences, [])
  }
})

test('a closed shape refuses an unknown member by name, and only these are open [F-06]', () => {
  // These are one of several closed shapes.
  const names = Object.keys(contracts).filter(
    (name) => !['agent-manifest', 'upstream', 'tool-result', 'verify-verdict'].includes(name),
  )
  const [closed, open] = [true, false].map((isClosed) =>
    names.filter((name) => (jsonSchemaOf(name)['additionalProperties'] === false) === isClosed),
  )
  assert.deepEqual(open, ['call-error', 'capability-metadata', 'grant-path', 'signing-key', 'subject'])
  for (const name of closed ?? []) {
    const [value] = fc.sample(valuesOf(jsonSchemaOf(name)), { numRuns: 1, seed: 7 })
    const problems = problemsOf(contracts[name]?.schema ?? z.never(), { ...(value as object), surprise: 1 })
    assert.deepEqual(
      problems,
      [{ code: 'field.unknown', pointer: '/surprise', message: 'is not a known member' }],
      name,
    )
  }
})

test('the list is sorted, and each schema says its dialect, name, title and meaning [F-06]', () => {
  const names = listSchemas().map(({ name }) => name)
  assert.deepEqual(names, names.toSorted())
  for (const { name, title, description } of listSchemas()) {
    const { $schema, $id, title: shownTitle, description: shownDescription } = jsonSchemaOf(name)
    assert.equal($schema, 'https://json-schema.org/draft/2020-12/schema')
    assert.deepEqual([$id, shownTitle, shownDescription], [`urn:ambit:schema:${name}`, title, description])
  }
})

test('a schema that is not there is not found [F-06]', () => {
  for (const name of ['', 'unknown', 'constructor', '__proto__']) {
    assert.throws(() => jsonSchemaOf(name), { code: 'schema.not_found', data: { name } })
  }
})

test('every error body is a problem [F-05]', () => {
  const failures = [new Failure('tenant.not_found', 'gone', { tenant_id: 'x' }, 'look again'), new Error('oops'), null]
  for (const failure of failures) {
    assert.deepEqual(problemsOf(contracts['problem']?.schema ?? z.never(), problem(failure, 'a1')), [])
  }
})

interface Count {
  valid: number
  invalid: number
}

const shown = ({ valid, invalid }: Count): string => `${valid}/${invalid}`.padStart(8)

function compare(schema: z.ZodType, jsonSchema: SchemaNode) {
  const validate = new Ajv2020({ allowUnionTypes: true }).compile(jsonSchema)
  const compared = {
    zod: { valid: 0, invalid: 0 },
    ajv: { valid: 0, invalid: 0 },
    differences: [] as string[],
    changes: new Set<string>(),
  }
  for (const { name, verdict, make } of casesOf(jsonSchema)) {
    const value = make()
    const zod = verdictOf(schema, value)
    const ajv = validate(value) ? 'valid' : 'invalid'
    if (zod !== ajv || ajv !== (verdict ?? ajv)) {
      compared.differences.push(
        `${name}: Zod ${zod}, JSON Schema ${ajv}, expected ${verdict}: ${JSON.stringify(value)}`,
      )
    }
    compared.zod[zod === 'valid' ? 'valid' : 'invalid']++
    compared.ajv[ajv]++
    compared.changes.add(name)
  }
  return compared
}

function verdictOf(schema: z.ZodType, value: Json): 'valid' | 'invalid' | 'changed' {
  const parsed = schema.safeParse(value)
  if (!parsed.success) return 'invalid'
  return isDeepStrictEqual(parsed.data, value) ? 'valid' : 'changed'
}

/** A quarter valid as generated; the rest with one change each, all kinds of change equally likely. */
function casesOf(schema: SchemaNode): Mutation[] {
  const pick = fc.noBias(fc.nat())
  const drawn = fc.sample(fc.tuple(valuesOf(schema), pick, pick), { numRuns: casesPerShape, seed: 20260616 })
  return drawn.map(([value, kind, which], index) => {
    if (index % 4 === 0) return { name: 'unchanged', verdict: 'valid', make: () => value }
    const byName = Map.groupBy(mutationsOf(schema, value), (mutation) => mutation.name)
    const group = [...byName.values()][kind % byName.size] ?? []
    return group[which % group.length] ?? assert.fail('a value nothing can be changed about')
  })
}
