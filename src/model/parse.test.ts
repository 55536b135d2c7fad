import assert from 'node:assert/strict'
import { test } from 'vitest'
import { z } from 'zod'
import { Failure } from '../base/failure.ts'
import { config } from './config/config.ts'
import { upstream } from './config/upstream.ts'
import { parseAs, problemsOf } from './parse.ts'
import { policy } from './policy.ts'
import { form } from './text.ts'

const shape = z.strictObject({
  id: form(/^[a-z]+$/u, 'lower-case letters'),
  kind: z.enum(['one', 'two']),
  count: z.int().min(1).max(9).optional(),
  tags: z.array(z.string()).min(1).optional(),
  inner: z.strictObject({ 'a/b~c': z.boolean() }).optional(),
  either: z.union([z.strictObject({ x: z.number() }), z.array(z.number())]).optional(),
  names: z.record(form(/^[a-z]$/u, 'one letter'), z.number().gt(0)).optional(),
})
const good = { id: 'abc', kind: 'one' }

test('a value of the shape comes back equal [F-06]', () => {
  const value = { ...good, inner: { 'a/b~c': true }, either: [1], names: { a: 1 } }
  assert.deepEqual(parseAs(shape, value, 'the thing'), value)
})

test('a refusal has a code, a JSON Pointer, and says what was expected [F-06]', () => {
  const cases: [unknown, string, string, string][] = [
    [null, 'field.invalid', '', 'the thing must be an object'],
    [{ kind: 'one' }, 'field.missing', '/id', 'the thing: `/id` is missing'],
    [{ id: 'abc' }, 'field.missing', '/kind', 'the thing: `/kind` is missing'],
    [{ ...good, extra: 1 }, 'field.unknown', '/extra', 'the thing: `/extra` is not a known member'],
    [{ ...good, id: 7 }, 'field.invalid', '/id', 'the thing: `/id` must be a string'],
    [{ ...good, id: 'A' }, 'field.invalid', '/id', 'the thing: `/id` must be lower-case letters'],
    [{ ...good, kind: 'six' }, 'field.invalid', '/kind', 'the thing: `/kind` must be one of `one`, `two`'],
    [{ ...good, count: 0 }, 'field.invalid', '/count', 'the thing: `/count` must be at least 1'],
    [{ ...good, count: 10 }, 'field.invalid', '/count', 'the thing: `/count` must be at most 9'],
    [{ ...good, count: 1.5 }, 'field.invalid', '/count', 'the thing: `/count` must be an integer'],
    [{ ...good, tags: [] }, 'field.invalid', '/tags', 'the thing: `/tags` must have at least 1 item'],
    [{ ...good, tags: ['a', 5] }, 'field.invalid', '/tags/1', 'the thing: `/tags/1` must be a string'],
    [
      { ...good, inner: { 'a/b~c': 1 } },
      'field.invalid',
      '/inner/a~1b~0c',
      'the thing: `/inner/a~1b~0c` must be a boolean',
    ],
    [{ ...good, names: { a: 0 } }, 'field.invalid', '/names/a', 'the thing: `/names/a` must be greater than 0'],
    [
      { ...good, names: { AB: 1 } },
      'field.invalid',
      '/names/AB',
      'the thing: `/names/AB` is not an allowed member name',
    ],
  ]
  for (const [value, code, pointer, message] of cases) {
    const failure = refusal(() => parseAs(shape, value, 'the thing'))
    assert.deepEqual([failure.code, failure.data, failure.message], [code, { pointer }, message])
  }
})

test('of several problems the first in the document is reported, and what is missing comes after what is there [F-06]', () => {
  const value = { zz: 1, count: 'many', tags: [{}] }
  assert.deepEqual(
    problemsOf(shape, value).map((problem) => [problem.code, problem.pointer]),
    [
      ['field.unknown', '/zz'],
      ['field.invalid', '/count'],
      ['field.invalid', '/tags/0'],
      ['field.missing', '/id'],
      ['field.missing', '/kind'],
    ],
  )
  assert.equal(refusal(() => parseAs(shape, value, 'it')).data['pointer'], '/zz')
})

test('of a union the alternative that was meant is reported, or the union when that is unclear [F-06]', () => {
  const [inside] = problemsOf(shape, { ...good, either: { x: 'no' } })
  assert.deepEqual(inside, { code: 'field.invalid', pointer: '/either/x', message: 'must be a number' })
  const [unclear] = problemsOf(shape, { ...good, either: 'no' })
  assert.deepEqual(unclear, { code: 'field.invalid', pointer: '/either', message: 'must be an object, or an array' })
  const budget = { name: 'b', per: 'principle', applies_to: ['*'], every: 'day', calls: 1 }
  const [per] = problemsOf(config, { host: { budgets: [budget] } })
  assert.equal(per?.message, 'must be one of `tenant`, `principal`, `history`, `capability`, or an array')
  const [every] = problemsOf(config, { host: { budgets: [{ ...budget, per: 'tenant', every: 'week' }] } })
  assert.equal(every?.message, 'must be one of `hour`, `day`, `month`, or a number')
  const server = { url: 'https://a.example/mcp', header: {} }
  const [header] = problemsOf(upstream, { adapter: 'mcp', name: 'a', server, capabilities: [] })
  assert.deepEqual([header?.code, header?.pointer], ['field.unknown', '/server/header'])
  const [neither] = problemsOf(upstream, { adapter: 'mcp', name: 'a', server: {}, capabilities: [] })
  assert.deepEqual([neither?.pointer, neither?.message], ['/server', 'fits none of the forms that are allowed'])
  const [driver] = problemsOf(config, { store: { driver: 'oracle' } })
  assert.deepEqual(driver, {
    code: 'field.invalid',
    pointer: '/store/driver',
    message: 'must be one of `sqlite`, `postgres`',
  })
})

test('a member that is not known is told with the one that was likely meant, at any depth [F-06]', () => {
  const server = { url: 'https://a.example/mcp', header: {} }
  const cases: [z.ZodType, unknown, string | undefined][] = [
    [shape, { ...good, cuont: 1 }, 'did you mean `count`?'],
    [shape, { ...good, colour: 1 }, undefined],
    [config, { host: { bugdets: [] } }, 'did you mean `budgets`?'],
    [config, { host: { session: 'correlation' } }, 'did you mean `history`?'],
    [config, { host: { limits: { session: 1 } } }, undefined],
    [upstream, { adapter: 'mcp', name: 'a', server, capabilities: [] }, 'did you mean `headers`?'],
    [
      upstream,
      { adapter: 'mcp', name: 'a', server: { command: 'a' }, capabilites: [] },
      'did you mean `capabilities`?',
    ],
    [config, { upstreams: [{ adapter: 'http', name: 'a', sever: {}, capabilities: [] }] }, 'did you mean `server`?'],
  ]
  for (const [schema, value, help] of cases) assert.equal(refusal(() => parseAs(schema, value, 'it')).help, help)
})

test('no message holds the value that was refused [F-06]', () => {
  const secret = 'hunter2-hunter2'
  const values = [secret, { id: secret, kind: secret, count: secret, tags: secret, inner: [secret], either: secret }]
  const problems = values.flatMap((value) => problemsOf(shape, value))
  assert.equal(problems.length, 7)
  assert.equal(JSON.stringify(problems).includes('hunter'), false)
})

test('a member name of the caller is shown escaped and cut [F-06]', () => {
  const failure = refusal(() => parseAs(shape, { ...good, ['\u202e`'.repeat(100)]: 1 }, 'it'))
  assert.match(failure.message, /^it: `\/(?:\\u\{202e\}\\u\{60\}){39}…` is not a known member$/)
})

test('a large value that is wrong throughout is refused without looking at it twice over [F-06]', () => {
  const many = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`m${index}`, 1]))
  assert.equal(problemsOf(shape, { ...many, tags: Array(200_000).fill(1) }).length, 400_002)
})

test('a rule without its condition is refused: null is a value, absence is not [F-06]', () => {
  const withWhen = (rule: object) => ({ name: 'p', version: '1', applies_to: [], rules: [rule] })
  const rule = { id: 'r', decision: 'allow' }
  assert.equal(problemsOf(policy, withWhen({ ...rule, when: null })).length, 0)
  assert.equal(problemsOf(policy, withWhen(rule))[0]?.pointer, '/rules/0/when')
})

function refusal(attempt: () => unknown): Failure {
  try {
    attempt()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  return assert.fail('nothing was refused')
}
