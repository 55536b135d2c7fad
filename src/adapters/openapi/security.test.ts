import assert from 'node:assert/strict'
import { test } from 'vitest'
import { givenImport as given, ok, importOne as one, text, url } from '../../../test/support/openapi.ts'

const schemes = {
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  query: { type: 'apiKey', in: 'query', name: 'key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  bearer: { type: 'http', scheme: 'Bearer' },
  'basic auth': { type: 'http', scheme: 'basic' },
  oauth: { type: 'oauth2', flows: {} },
  oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example' },
  digest: { type: 'http', scheme: 'digest' },
  mtls: { type: 'mutualTLS' },
  bad: { type: 'apiKey', in: 'header', name: 'a b' },
}

test.each<[string, object]>([
  ['header', { headers: { 'X-Key': '{secret:depot.header}' } }],
  ['query', { query: { key: '{secret:depot.query}' } }],
  ['cookie', { headers: { Cookie: 'sid={secret:depot.cookie}' } }],
  ['bearer', { headers: { Authorization: 'Bearer {secret:depot.bearer}' } }],
  ['basic auth', { headers: { Authorization: 'Basic {secret:depot.basic_auth}' } }],
  ['oauth', { headers: { Authorization: 'Bearer {secret:depot.oauth}' } }],
  ['oidc', { headers: { Authorization: 'Bearer {secret:depot.oidc}' } }],
])('a credential by %s is a place for a secret [H-90]', (scheme, expected) => {
  const { server, descriptor } = one(
    { security: [{ [scheme]: ['read'] }] },
    { components: { securitySchemes: schemes } },
  )
  assert.deepEqual(server, { url, ...expected })
  const [handle] = Object.values(descriptor?.metadata?.credentials ?? {})
  assert.deepEqual(handle, {
    kind: scheme === 'query' ? 'query' : 'header',
    origin: 'https://api.example',
    scopes: ['read'],
  })
})

test.each(['digest', 'mtls', 'bad', 'gone', 'constructor'])('an operation that needs %s is listed [H-90]', (scheme) => {
  const { reason, server } = one(
    { security: [{ header: [], [scheme]: [] }] },
    { components: { securitySchemes: schemes } },
  )
  assert.match(reason ?? '', new RegExp(`\`${scheme}\``))
  assert.deepEqual(server, { url })
})

const sent = (...names: string[]) => names.map((name) => `{secret:depot.${name}}`)

test('an operation is sent what it asks for, by the first way that can be gone, and nothing that others ask for [H-90]', () => {
  const at = (security: unknown) => ({ get: { ...ok, security } })
  const { upstream, skipped } = given({
    security: [{ oauth: [] }],
    paths: {
      '/a': at([{ mtls: [] }, { header: [], query: [] }]),
      '/b': at([{ bearer: [] }, { oauth: [] }]),
      '/c': at([]),
      '/d': at([{ bearer: [] }, {}]),
      '/e': { get: { ...ok, parameters: [{ name: 'x-key', in: 'header', required: true, schema: text }] } },
      '/f': at([{ bearer: [], oauth: [] }]),
    },
    components: { securitySchemes: schemes },
  })
  assert.deepEqual(skipped, [{ operation: 'GET /f', reason: 'it needs `oauth`, where `bearer` is sent already' }])
  assert.deepEqual(upstream.server, { url })
  const [header, query, bearer, oauth] = sent('header', 'query', 'bearer', 'oauth')
  assert.deepEqual(
    upstream.capabilities.map(({ request: { path, headers, query } }) => [path, { ...headers, ...query }]),
    [
      ['/a', { 'X-Key': header, key: query }],
      ['/b', { Authorization: `Bearer ${bearer}` }],
      ['/c', {}],
      ['/d', {}],
      ['/e', { Authorization: `Bearer ${oauth}` }],
    ],
  )
  const credentials = upstream.capabilities.map(({ descriptor }) => Object.keys(descriptor.metadata?.credentials ?? {}))
  assert.deepEqual(credentials, [['depot.header', 'depot.query'], ['depot.bearer'], [], [], ['depot.oauth']])
  assert.equal(upstream.capabilities[4]?.request.parameters?.[0]?.name, 'x-key')
})

test('a key that other operations ask for is not asked for where it can be left out [H-90]', () => {
  const parameters = ['x-key', 'x-other'].map((name) => ({ name, in: 'header', schema: text }))
  const elsewhere = { key: { $ref: '#/components/x-schemes/header' }, gone: { $ref: '#/nowhere' } }
  for (const securitySchemes of [schemes, elsewhere]) {
    const { request } = one({ parameters }, { components: { securitySchemes, 'x-schemes': schemes } })
    assert.deepEqual(
      request?.parameters?.map(({ name }) => name),
      ['x-other'],
    )
    assert.equal(request?.headers, undefined)
  }
})

test('what all operations are sent alike is said once, and what is needed too [H-90]', () => {
  const { upstream, notes } = given({
    security: [{ cookie: [], query: [] }],
    paths: { '/a': { get: ok, delete: ok }, '/b': { get: ok } },
    components: { securitySchemes: schemes },
  })
  const [cookie, query] = sent('cookie', 'query')
  assert.deepEqual(upstream.server, { url, headers: { Cookie: `sid=${cookie}` }, query: { key: query } })
  assert(upstream.capabilities.every(({ request }) => request.headers === undefined && request.query === undefined))
  assert.equal(notes.length, 2)
})

test('a parameter that reads as a credential, or as the key that we set, is not asked for [H-90]', () => {
  const required = (name: string, place: string) => ({ name, in: place, required: true, schema: text })
  const parameters = [required('KEY', 'query'), required('Idempotency-Key', 'header')]
  const { upstream, skipped } = given({
    components: { securitySchemes: schemes },
    security: [{ query: [] }],
    paths: { '/a': { post: { ...ok, parameters }, get: { ...ok, parameters } } },
  })
  assert.deepEqual(skipped, [])
  assert.deepEqual(
    upstream.capabilities
      .map(({ request }) => [request.method, request.parameters?.map(({ name }) => name)])
      .toSorted(),
    [
      ['GET', ['Idempotency-Key']],
      ['POST', undefined],
    ],
  )
})

test('a parameter that some take for the method is left out; an operation that needs it is listed [H-90]', () => {
  const named = (required: boolean) => ({
    post: { ...ok, parameters: [{ name: '_method', in: 'query', required, schema: text }] },
  })
  const { upstream, skipped } = given({ paths: { '/a': named(false), '/b': named(true) } })
  assert.deepEqual(skipped, [{ operation: 'POST /b', reason: 'its parameter `_method` cannot be sent' }])
  assert.deepEqual(
    upstream.capabilities.map(({ request }) => request.parameters),
    [undefined],
  )
})
