import assert from 'node:assert/strict'
import { test } from 'vitest'
import { givenImport as given, ok, importOne as one, text, url } from '../../../test/support/openapi.ts'
import type { Json } from '../../base/canonical.ts'
import { upstream as upstreamShape } from '../../model/config/upstream.ts'
import type { ImportOptions } from './import.ts'

const membersOf = (descriptor: ReturnType<typeof one>['descriptor']): Readonly<Record<string, Json>> =>
  (descriptor?.input_schema?.['properties'] ?? {}) as Record<string, Json>

test('an operation becomes a capability with its request, its schemas and a policy to begin with [H-90]', () => {
  const { upstream, skipped, notes } = given({
    security: [{ key: [] }],
    paths: {
      '/items/{id}': {
        parameters: [
          { name: 'id', in: 'path', required: true, schema: text },
          { name: 'lang', in: 'query', schema: text },
        ],
        put: {
          operationId: 'items/replace item',
          summary: 'Replaces\nan item',
          description: 'All of it.',
          tags: ['items'],
          deprecated: true,
          parameters: [
            {
              name: 'lang',
              in: 'query',
              style: 'pipeDelimited',
              explode: false,
              schema: { type: 'array', items: text },
            },
          ],
          requestBody: {
            required: true,
            content: { 'text/plain': {}, 'application/json': { schema: { $ref: '#/components/schemas/Item' } } },
          },
          responses: {
            200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Item' } } } },
            204: {},
            404: {},
          },
        },
      },
    },
    components: {
      schemas: { Item: { type: 'object', properties: { name: text } } },
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    },
  })
  const Item = { type: 'object', properties: { name: text } }
  assert.deepEqual(upstream, {
    adapter: 'http',
    name: 'depot',
    server: { url, headers: { 'X-Key': '{secret:depot.key}' } },
    capabilities: [
      {
        request: {
          method: 'PUT',
          path: '/items/{id}',
          parameters: [
            { name: 'id', in: 'path', from: 'id', style: 'simple', explode: false },
            { name: 'lang', in: 'query', from: 'lang', style: 'pipeDelimited', explode: false },
          ],
          body: { from: 'body', type: 'application/json' },
        },
        descriptor: {
          id: 'depot.items_replace_item',
          version: '2.1.0',
          description: 'Replaces an item — All of it.',
          name: 'Replaces an item',
          tags: ['items'],
          status: 'deprecated',
          side_effects: ['http.PUT'],
          risk: 'medium',
          policy: { auth_required: true },
          input_schema: {
            type: 'object',
            properties: { id: text, lang: { type: 'array', items: text }, body: { $ref: '#/$defs/Item' } },
            required: ['id', 'body'],
            additionalProperties: false,
            $defs: { Item },
          },
          output_schema: { anyOf: [{ $ref: '#/$defs/Item' }, { type: 'null' }], $defs: { Item } },
          metadata: { credentials: { 'depot.key': { kind: 'header', origin: 'https://api.example' } } },
        },
      },
    ],
  })
  assert.deepEqual([skipped, notes], [[], ['the secret `depot.key` is needed: a key, sent as header `X-Key`']])
  assert.deepEqual(upstreamShape.parse(upstream), upstream)
})

test('risk goes by the method, the document may only raise it, and the policy follows [H-90]', () => {
  const risky = (method: string, said?: object, document = {}) => {
    const { descriptor } = one(said ? { 'x-ambit': said } : {}, { method, ...document })
    return [descriptor?.risk, descriptor?.policy]
  }
  const known = { auth_required: true }
  const asked = { auth_required: true, approval_required: true }
  for (const method of ['get', 'head', 'options']) assert.deepEqual(risky(method), ['low', known])
  for (const method of ['post', 'put', 'patch']) assert.deepEqual(risky(method), ['medium', known])
  assert.deepEqual(risky('delete'), ['high', asked])
  assert.deepEqual(risky('delete', { risk: 'low', approval_required: false, auth_required: false }), ['high', asked])
  assert.deepEqual(risky('post', { risk: 'critical' }), ['critical', asked])
  assert.deepEqual(risky('get', { risk: 'none of them', auth_required: false }), ['low', known])
  assert.deepEqual(risky('get', { approval_required: true }), ['low', asked])
  assert.deepEqual(risky('get', { risk: 'low' }, { 'x-ambit': { risk: 'medium' } }), ['medium', known])
})

test('what only reads says that it changes nothing [H-90]', () => {
  const effects = (method: string) => one({}, { method }).descriptor?.side_effects
  assert.deepEqual(['get', 'head', 'options'].map(effects), [[], [], []])
  assert.deepEqual(['post', 'delete'].map(effects), [['http.POST'], ['http.DELETE']])
})

test('an operation without an id is named by its method and path; of two with one id the second is listed [H-90]', () => {
  const { upstream, skipped } = given({
    paths: {
      '/a/{b}': { get: { ...ok, parameters: [{ name: 'b', in: 'path', required: true }] } },
      '/x y': { get: { ...ok, operationId: 'same' }, post: { ...ok, operationId: 'same' } },
      '/c': { post: { ...ok, operationId: 'same' }, trace: ok },
      '/d': { get: { ...ok, operationId: 'same' } },
    },
  })
  assert.deepEqual(
    upstream.capabilities.map(({ descriptor }) => descriptor.id),
    ['depot.GET_a_b'],
  )
  assert.deepEqual(
    skipped.map(({ operation }) => operation),
    ['POST /x y', 'POST /c', 'TRACE /c', 'GET /d', 'GET /x y'],
  )
  assert.match(skipped[0]?.reason ?? '', /its id `same` is that of `GET \/x y`/)
})

test('only what is included and not excluded is imported [H-90]', () => {
  const paths = Object.fromEntries(
    ['list', 'listAll', 'drop'].map((id) => [`/${id}`, { get: { ...ok, operationId: id } }]),
  )
  const ids = (options: Partial<ImportOptions>) =>
    given({ paths }, options).upstream.capabilities.map(({ descriptor }) => descriptor.id)
  assert.deepEqual(ids({ include: ['list*'] }), ['depot.list', 'depot.listAll'])
  assert.deepEqual(ids({ include: ['list*'], exclude: ['listAll'] }), ['depot.list'])
  assert.deepEqual(ids({ exclude: ['*'] }), [])
  const probed = { '/a': { get: { ...ok, operationId: 'read' }, trace: { ...ok, operationId: 'probe' } } }
  const { names, skipped } = given({ paths: probed }, { exclude: ['probe'] })
  assert.deepEqual([names, skipped], [['read', 'probe'], []])
})

test('parameters keep their place, their style and a name of their own [H-90]', () => {
  const { request, descriptor } = one(
    {
      parameters: [
        { name: 'id', in: 'path', required: true, style: 'label', schema: text },
        { name: 'id', in: 'query', schema: text },
        { name: 'body', in: 'query', schema: text },
        { name: 'where', in: 'query', style: 'deepObject', explode: true, schema: { type: 'object' } },
        { name: 'json', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
        { $ref: '#/components/parameters/Trace' },
        { name: 'Accept', in: 'header', schema: text },
        { name: 'Host', in: 'header', schema: text },
        { name: 'odd', in: 'query', style: 'matrix', schema: text },
        { name: 'xml', in: 'query', content: { 'application/xml': {} } },
        { name: 'gone', in: 'path', required: true, schema: text },
        { name: 'sid', in: 'cookie', required: true, description: 'Whose.', schema: text },
      ],
    },
    { path: '/a/{id}', components: { parameters: { Trace: { name: 'X-Trace', in: 'header', schema: text } } } },
  )
  assert.deepEqual(
    request?.parameters?.map(({ in: place, from, style, explode }) => [place, from, style, explode]),
    [
      ['path', 'path_id', 'label', false],
      ['query', 'query_id', 'form', true],
      ['query', 'query_body', 'form', true],
      ['query', 'where', 'deepObject', true],
      ['query', 'json', 'json', false],
      ['header', 'X-Trace', 'simple', false],
      ['cookie', 'sid', 'form', true],
    ],
  )
  assert.deepEqual(descriptor?.input_schema?.['required'], ['path_id', 'sid'])
  assert.deepEqual(membersOf(descriptor)['sid'], {
    type: 'string',
    description: 'Whose.',
  })
})

test.each<[string, object, object]>([
  [
    'JSON before all',
    { 'text/plain': {}, 'application/x-www-form-urlencoded': {}, 'application/vnd.a+json': { schema: text } },
    { type: 'application/vnd.a+json', schema: text },
  ],
  ['anything is JSON', { '*/*': { schema: text } }, { type: 'application/json', schema: text }],
  [
    'a form',
    { 'application/xml': {}, 'application/x-www-form-urlencoded': { schema: { type: 'object' } } },
    { type: 'application/x-www-form-urlencoded', schema: { type: 'object' } },
  ],
  ['text', { 'application/pdf': {}, 'text/csv': { schema: { type: 'object' } } }, { type: 'text/csv', schema: text }],
  [
    'bytes',
    { 'image/*': { schema: text } },
    { type: 'application/octet-stream', schema: { type: 'string', contentEncoding: 'base64' } },
  ],
])('the body of a request: %s [H-90]', (_, content, expected) => {
  const { request, descriptor } = one({ requestBody: { content } }, { method: 'post' })
  const schema = membersOf(descriptor)['body']
  assert.deepEqual({ type: request?.body?.type, schema }, expected)
  assert.equal(descriptor?.input_schema?.['required'], undefined)
})

test.each<[string, object, Json | undefined]>([
  [
    'one',
    { 200: { content: { 'application/json': { schema: text } } }, default: { content: { 'text/plain': {} } } },
    text,
  ],
  [
    'any of some',
    { '2XX': { content: { 'application/a+json': { schema: text } } }, 202: {} },
    { anyOf: [{ type: 'null' }, text] },
  ],
  ['nothing', { 204: {} }, undefined],
  [
    'something else',
    { 200: { content: { 'text/csv': {} } }, 201: { content: { 'application/json': { schema: text } } } },
    undefined,
  ],
  ['one of two types', { 200: { content: { 'application/json': { schema: text }, 'text/csv': {} } } }, undefined],
  ['a failure alone', { 400: { content: { 'application/json': { schema: text } } } }, undefined],
])('what a call answers, if it is always JSON: %s [H-90]', (_, responses, expected) => {
  assert.deepEqual(one({ responses }).descriptor?.output_schema, expected)
})
