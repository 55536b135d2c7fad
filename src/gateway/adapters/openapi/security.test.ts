import assert from 'node:assert/strict'
import { test } from 'vitest'
import { givenImport as given, ok, importOne as one, text, url } from '../../../../test/support/openapi.ts'

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
  ['header', { headers: { 'X-Key': '{secret:depot_header}' } }],
  ['query', { query: { key: '{secret:depot_query}' } }],
  ['cookie', { headers: { Cookie: 'sid={secret:depot_cookie}' } }],
  ['bearer', { headers: { Authorization: 'Bearer {secret:depot_bearer}' } }],
  ['basic auth', { headers: { Authorization: 'Basic {secret:depot_basic_auth}' } }],
  ['oauth', { headers: { Authorization: 'Bearer {secret:depot_oauth}' } }],
  ['oidc', { headers: { Authorization: 'Bearer {secret:depot_oidc}' } }],
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

test('of several ways the first that can be gone is; and one place is for one credential, first for that of the document [H-90]', () => {
  const at = (security: unknown) => ({ get: { ...ok, security } })
  const { upstream, skipped } = given({
    security: [{ oauth: [] }],
    paths: {
      '/a': at([{ mtls: [] }, { header: [], query: [] }]),
      '/b': at([{ bearer: [] }]),
      '/c': at([{ bearer: [] }, { oauth: [] }]),
      '/d': at([]),
      '/e': at([{ bearer: [] }, {}]),
      '/f': { get: { ...ok, parameters: [{ name: 'x-key', in: 'header', required: true, schema: text }] } },
    },
    components: { securitySchemes: schemes },
  })
  assert.deepEqual(skipped, [{ operation: 'GET /b', reason: 'it needs `bearer`, where `oauth` is sent already' }])
  assert.deepEqual(upstream.server, {
    url,
    headers: { Authorization: 'Bearer {secret:depot_oauth}', 'X-Key': '{secret:depot_header}' },
    query: { key: '{secret:depot_query}' },
  })
  assert.equal(upstream.capabilities.length, 5)
  assert.equal(upstream.capabilities[4]?.request.parameters, undefined)
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
