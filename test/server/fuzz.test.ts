import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { fixtureWithAgents } from '../support/agents.ts'
import { document } from '../support/fits.ts'
import { anything, canary, roughly } from '../support/schema-arbitrary.ts'
import { type AskOptions, givenServer, scopedKey, sharedKey } from '../support/server.ts'
import { projectRoot } from '../support/source.ts'

interface Asked extends AskOptions {
  readonly method: string
  readonly path: string
  readonly body?: never
  readonly raw?: string
}

// biome-ignore lint/suspicious/noExplicitAny: the document is looked at as data
type Operation = any

const operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

const part = fc.oneof(
  fc.constantFrom(
    'cor_1',
    'inv_1',
    'apr_1',
    '%00',
    '%',
    '%ff',
    '..%2f..',
    'x'.repeat(400),
    '%F0%9F%98%80',
    'constructor',
  ),
  fc.string({ unit: 'grapheme', maxLength: 10 }).map(encodeURIComponent),
)
const query = fc.array(
  fc.tuple(
    fc.constantFrom(
      'limit',
      'since_sequence',
      'include_payloads',
      'state',
      'cursor',
      'format',
      'scheme',
      'x',
      'status',
      'grant',
      'since',
    ),
    part,
  ),
  {
    maxLength: 3,
  },
)
const headerText = fc.constantFrom(
  '',
  '0',
  '-1',
  '9'.repeat(30),
  '0.1',
  '0.2',
  '1',
  'null',
  '{}',
  `Bearer ${canary}`,
  'Bearer',
  'bearer e30',
  'a, b',
  'x'.repeat(5000),
)
const headers = fc.oneof(
  { arbitrary: fc.constant({}), weight: 3 },
  {
    arbitrary: fc.dictionary(
      fc.constantFrom(
        'x-chp-version',
        'last-event-id',
        'authorization',
        'x-chp-token',
        'traceparent',
        'tracestate',
        'accept',
        'content-type',
        'origin',
        'x-forwarded-for',
        'range',
        'content-encoding',
        'x-http-method-override',
      ),
      headerText,
      { maxKeys: 2, noNullPrototype: true },
    ),
    weight: 1,
  },
)
const key = fc.oneof(
  { arbitrary: fc.constantFrom(sharedKey, 'key-of-alice', scopedKey), weight: 6 },
  { arbitrary: fc.constantFrom(null, '', canary, `${sharedKey} `), weight: 1 },
)

/** A body as text: what the schema makes, and what was done to that. */
const bodyOf = ({ requestBody }: Operation): fc.Arbitrary<string | undefined> => {
  const schema = requestBody?.content['application/json'].schema
  const name = schema?.$ref?.split('/').at(-1)
  const value =
    schema === undefined ? anything : roughly(name === undefined ? schema : document.components.schemas[name])
  const text = value.map((given) => JSON.stringify(given))
  const broken = fc
    .tuple(text, fc.nat(), fc.constantFrom('', '"', '{', '\u0000', '\\ud800', '9'.repeat(40), ',', 'Infinity'))
    .map(
      ([whole, at, put]) => whole.slice(0, at % (whole.length + 1)) + put + whole.slice((at % (whole.length + 1)) + 1),
    )
  const deep = fc.constantFrom(70, 5_000).map((levels) => '{"payload":'.repeat(levels))
  return fc.oneof({ arbitrary: text, weight: 8 }, { arbitrary: broken, weight: 2 }, { arbitrary: deep, weight: 1 })
}

const asked: fc.Arbitrary<Asked> = fc.constantFrom(...operations).chain(({ path, method, operation }) =>
  fc
    .record({
      method: fc.oneof(
        { arbitrary: fc.constant(method), weight: 9 },
        { arbitrary: fc.constantFrom('PUT', 'DELETE', 'POST', 'GET'), weight: 1 },
      ),
      path: fc.tuple(part, query).map(([filled, pairs]) => {
        const text = pairs.map(([name, value]) => `${name}=${value}`).join('&')
        return path.replace(/\{[a-z]+\}/g, filled || 'x') + (text === '' ? '' : `?${text}`)
      }),
      raw: bodyOf(operation),
      key,
      headers,
    })
    .map(({ raw, ...request }) => (request.method === 'GET' || raw === undefined ? request : { ...request, raw })),
)

const outcomes =
  /(?<="(?:outcome|code)":")(?:success|failure|allowed|[a-z]+_(?:required|invalid|blocked|found|mode|unsupported))(?=")/g

/** These name the value that they refuse, escaped and cut: a grant, an id, an agent. */
const naming =
  /^(?:grant_|id_invalid$|agent_not_found$|request_(?:id_)?conflict$|session_busy$|run_|memory_|correlation_not_found$|record_not_found$|pack_)/

test('no request makes the server stumble, and no answer to a bad one tells anything [H-74 H-80]', async () => {
  const { ask, ambit, keyOf } = await givenServer({ ...fixtureWithAgents(), roots: ['northlight'] })
  // Her configured key has the rights of her principal.
  await keyOf({ id: 'alice', kind: 'user', roles: ['grantor', 'auditor'] })
  const secrets = [ambit.settings.dataDir, projectRoot, sharedKey, 'key-of-alice', scopedKey]
  const counts = new Map<number, number>()
  const processed = new Set<string>()
  await fc.assert(
    fc.asyncProperty(asked, async ({ method, path, ...options }) => {
      const { status, text } = await ask(method, path, options)
      counts.set(status, (counts.get(status) ?? 0) + 1)
      if (text.includes('"outcome":')) for (const [word] of text.matchAll(outcomes)) processed.add(word)
      assert(status < 500, `${status}: ${text}`)
      for (const secret of secrets) assert(!text.includes(secret), text)
      assert.doesNotMatch(text, /\.ts:\d+|node:internal|node_modules|SQLITE|TypeError/)
      // The place of what is wrong may be named, and who asked for which version; a value never.
      const isNaming = naming.test(/"code":"(\w+)"/.exec(text)?.[1] ?? '')
      if (status >= 400 && !path.includes(canary) && !isNaming) assert(!text.includes(canary), text)
      if (status >= 400) assert(text.length < 1_500, text)
    }),
    { numRuns: 2_000 },
  )
  for (const status of [200, 400, 401, 404, 405]) assert((counts.get(status) ?? 0) > 0, `none was ${status}`)
  // Some of it got through the door and as far as the gates, or it would have tested the door alone.
  assert(processed.size >= 3, [...processed].join(' '))
})
