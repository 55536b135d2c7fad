import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyone, givenHost, stillClock } from '../../../test/support/host.ts'
import { givenImport as given, importOne as one, text, url } from '../../../test/support/openapi.ts'
import { projectRoot } from '../../../test/support/source.ts'
import { givenServer } from '../../../test/support/upstream.ts'
import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { makeOffer } from '../../runtime/hosting/offer.ts'
import { operator } from '../../runtime/identity/caller.ts'
import { setSecret } from '../../runtime/identity/secrets.ts'
import { openEgress } from '../egress/egress.ts'
import { openHttp } from '../http/adapter.ts'
import { at } from './document.ts'
import { importOpenApi } from './import.ts'

test.each<[unknown, string | undefined, string]>([
  [
    [
      {
        url: 'https://{host}.example/{base}/',
        variables: { host: { default: 'eu' }, base: { default: 'v2', enum: ['v2'] } },
      },
    ],
    undefined,
    'https://eu.example/v2',
  ],
  [[{ url: '/v3' }], 'https://b.example', 'https://b.example/v3'],
  [[{ url: 'https://a.example/v1' }], 'http://127.0.0.1:8080/x', 'http://127.0.0.1:8080/x'],
  [undefined, 'https://b.example/', 'https://b.example'],
])('the server of %j, given %j, is %s [H-90]', (servers, server, expected) => {
  assert.equal(given({ servers, paths: {} }, server === undefined ? {} : { server }).upstream.server.url, expected)
})

test('what another server offers is listed [H-90]', () => {
  assert.match(one({ servers: [{ url: 'https://b.example' }] }).reason ?? '', /another server, `https:\/\/b\.example`/)
  assert.equal(one({ servers: [{ url: `${url}/` }] }).reason, undefined)
})

test('however many parts a schema refers to, all of them are named before the day is over [H-90]', () => {
  const names = Array.from({ length: 100_000 }, (_, index) => `s${index}`)
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]))
  const schemas = Object.fromEntries(names.map((name) => [name, text]))
  const requestBody = { content: { 'application/json': { schema: { properties } } } }
  const { skipped } = given({ paths: { '/a': { post: { requestBody } } }, components: { schemas } })
  assert.match(skipped[0]?.reason ?? '', /too large/)
})

test.each<[unknown, string]>([
  ['openapi: 3.1.0', ''],
  [[], ''],
  [{ swagger: '2.0', openapi: undefined }, '/openapi'],
  [{ openapi: '4.0.0' }, '/openapi'],
  [{ openapi: '3.10.0' }, '/openapi'],
  [{ info: 'x' }, '/info'],
  [{ paths: [] }, '/paths'],
  [{ components: 1 }, '/components'],
  [{ paths: { '/a/b': 1 } }, '/paths/~1a~1b'],
  [{ paths: { '/a': { get: [] } } }, '/paths/~1a/get'],
  [{ servers: [{ url: '/v1' }], paths: {} }, '/servers/0/url'],
  [{ servers: [{ url: 'https://{gone}/v1' }], paths: {} }, '/servers/0/url'],
  [{ servers: undefined, paths: {} }, '/servers/0/url'],
])('a document that is none is refused with the place: %j at %s [H-90]', (document, pointer) => {
  const run = () =>
    typeof document === 'string' || Array.isArray(document)
      ? importOpenApi(document, { name: 'a' })
      : given(document as object)
  expect(run).toThrow(expect.objectContaining({ code: 'upstream.invalid', data: { pointer } }))
})

test.each<[string, object, Record<string, unknown>, RegExp]>([
  [
    'a parameter that cannot be sent',
    { parameters: [{ name: 'a', in: 'query', required: true, style: 'label' }] },
    {},
    /`a` cannot be sent/,
  ],
  ['a place that nothing fills', {}, { path: '/a/{b}' }, /no parameter fills `b`/],
  ['a reference that leads out', { parameters: [{ $ref: 'b.json#/a' }] }, {}, /leads out of the document/],
  [
    'references in a circle',
    { parameters: [{ $ref: '#/components/parameters/A' }] },
    { components: { parameters: { A: { $ref: '#/components/parameters/A' } } } },
    /leads in a circle/,
  ],
  ['a query in its path', {}, { path: '/a?b=c' }, /must be a path/],
  ['a way out of its path', {}, { path: '/a/../b' }, /leads out of itself/],
  [
    'a body that reading has not',
    { requestBody: { required: true, content: { 'application/json': {} } } },
    {},
    /needs a body/,
  ],
  ['an id that is too long', { operationId: 'a'.repeat(300) }, {}, /could not be offered/],
])('what cannot be mapped is listed with the reason: %s [H-90]', (_, operation, more, reason) => {
  assert.match(one(operation, more).reason ?? '', reason)
})

test('whatever a document holds, it is read or refused, and what is made of it can be opened [H-90]', () => {
  const key = fc.constantFrom(
    'get',
    'post',
    'parameters',
    'requestBody',
    'content',
    'application/json',
    'schema',
    '$ref',
    'in',
    'name',
    'security',
    'responses',
    '200',
    '/a/{b}',
    'paths',
    'components',
    'servers',
    'url',
    'required',
    'operationId',
  )
  const leaf = fc.constantFrom<Json>(
    'path',
    'query',
    'b',
    '#/paths',
    '#/components',
    'https://a.example',
    '/a',
    '',
    true,
    null,
    7,
  )
  const { node } = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'medium' },
      leaf,
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(key, tie('node'), { maxKeys: 5 }).map((made) => ({ ...made })),
    ),
  }))
  fc.assert(
    fc.property(node, node, node, (item, components, security) => {
      try {
        const { upstream } = given({ paths: { '/a/{b}': item }, components, security })
        assert.doesNotThrow(() => openHttp(upstream, {} as never))
      } catch (error) {
        assert(error instanceof Failure && error.code === 'upstream.invalid', String(error))
      }
    }),
  )
})

test('an imported operation is called through the gateway [H-90]', async () => {
  const { origin, seen } = await givenServer((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"count":3}'),
  )
  const { upstream } = given(
    {
      paths: {
        '/stock/{item}': {
          get: {
            operationId: 'stock',
            security: [{ key: [] }],
            parameters: [{ name: 'item', in: 'path', required: true, schema: text }],
            responses: {
              200: {
                content: {
                  'application/json': {
                    schema: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
                  },
                },
              },
            },
          },
        },
      },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    },
    { server: origin },
  )
  const deps = {
    secret: () => assert.fail(),
    egress: openEgress({ allow: [origin] }),
    clock: stillClock(),
    folder: '',
    notice: () => undefined,
  }
  const { ambit, host, call } = await givenHost({ capabilities: openHttp(upstream, deps).capabilities })
  await setSecret(ambit, operator(host.tenant), 'depot.key', 'tok-1')
  const planner = { ...anyone, subject: { id: 'planner', type: 'api_key', verified: true }, name: 'principal:planner' }
  const result = await call(planner, { capability_id: 'depot.stock', payload: { item: 'ice' } })
  assert.deepEqual([result.outcome, result.data], ['success', { count: 3 }])
  assert.deepEqual([seen[0]?.url, seen[0]?.headers.authorization], ['/stock/ice', 'Bearer tok-1'])
  assert.equal(
    (await call(planner, { capability_id: 'depot.stock', payload: { item: 1 } })).denial?.code,
    'input_schema_validation_failed',
  )
})

const examples = join(projectRoot, 'node_modules/@readme/oas-examples')
const isThere = existsSync(examples)
const readExample = (file: string) => readJson(readFileSync(join(examples, file)), { bytesMax: limits.fileBytesMax })

test.skipIf(!isThere)(
  'a published document of 120 operations is mapped whole, and all of it can be offered [H-90]',
  () => {
    const { upstream, skipped } = importOpenApi(readExample('3.0/json/star-trek.json'), { name: 'stapi' })
    assert.deepEqual([upstream.capabilities.length, skipped], [120, []])
    const { capabilities } = openHttp(upstream, {} as never)
    assert.equal(makeOffer('host', { capabilities }).registry.all().length, 120)
  },
)

test.skipIf(!isThere)('of published documents each operation is mapped or listed with the reason [H-90]', () => {
  const methods = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace']
  const files = ['3.0/json', '3.1/json'].flatMap((folder) =>
    readdirSync(join(examples, folder)).map((file) => `${folder}/${file}`),
  )
  for (const file of files.filter((file) => file.endsWith('.json'))) {
    const document = readExample(file) as { paths?: Record<string, { $ref?: string }> }
    const items = Object.values(document.paths ?? {}).map((item) =>
      item.$ref ? at(document as never, item.$ref) : item,
    )
    const count = items.flatMap((item) => Object.keys(item ?? {})).filter((key) => methods.includes(key)).length
    const { upstream, skipped } = importOpenApi(document as Json, { name: 'example', server: 'https://api.example' })
    assert.equal(upstream.capabilities.length + skipped.length, count, file)
    openHttp(upstream, {} as never)
  }
})
