import { expect, test } from 'vitest'
import { givenHttp as given, operation, type Request } from '../../../test/support/http-upstream.ts'
import type { HttpUpstream } from '../../model/config/upstream.ts'

type Refused = [string, Request, Partial<HttpUpstream['server']>]
const withParameter = (name: string, place: 'query' | 'header' | 'cookie'): Request => ({
  method: 'GET',
  path: '/',
  parameters: [{ name, in: place, from: 'a' }],
})

test.each<Refused>([
  ['a place that nothing fills', { method: 'GET', path: '/{id}' }, {}],
  ['a path out of itself', { method: 'GET', path: '/a/%2e%2e/b' }, {}],
  ['a body of a read', { method: 'GET', path: '/', body: { from: 'b', type: 'text/plain' } }, {}],
  [
    'a style of another place',
    { method: 'GET', path: '/', parameters: [{ name: 'a', in: 'query', from: 'a', style: 'matrix' }] },
    {},
  ],
  [
    'a header of the connection',
    { method: 'GET', path: '/', parameters: [{ name: 'Host', in: 'header', from: 'a' }] },
    {},
  ],
  [
    'a header with a credential',
    { method: 'GET', path: '/', parameters: [{ name: 'authorization', in: 'header', from: 'a' }] },
    {},
  ],
  [
    'a header that is set already',
    { method: 'GET', path: '/', parameters: [{ name: 'x-key', in: 'header', from: 'a' }] },
    { headers: { 'X-Key': '1' } },
  ],
  ['a header that is none', { method: 'GET', path: '/' }, { headers: { 'a b': '1' } }],
  ['a length of its own', { method: 'GET', path: '/' }, { headers: { 'Content-Length': '1' } }],
  ['a malformed secret', { method: 'GET', path: '/' }, { headers: { Authorization: 'Bearer {secret:WEATHER KEY}' } }],
  ['a malformed secret beside a proper one', { method: 'GET', path: '/' }, { query: { a: '{secret:a}{Secret: b}' } }],
  ['a secret in its address', { method: 'GET', path: '/' }, { url: 'http://a.example/{secret:key}' }],
  ['a malformed secret of its own', { method: 'GET', path: '/', headers: { 'X-Key': '{secret:A KEY}' } }, {}],
  [
    'a header that every request has',
    { method: 'GET', path: '/', headers: { x_key: '2' } },
    { headers: { 'X-Key': '1' } },
  ],
  ['a query that every request has', { method: 'GET', path: '/', query: { KEY: '2' } }, { query: { key: '1' } }],
  ['a header that is ours', { method: 'GET', path: '/', headers: { Host: 'b.example' } }, {}],
  ['a parameter that it sends itself', { ...withParameter('api_key', 'query'), query: { api_key: '1' } }, {}],
  ['a query parameter that is fixed', withParameter('api_key', 'query'), { query: { api_key: '{secret:a}' } }],
  ['a cookie that is fixed', withParameter('session', 'cookie'), { headers: { Cookie: 'a=b; session={secret:a}' } }],
  ...[
    ...['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override', 'X-Forwarded-For', 'x-forwarded-host'],
    ...['Forwarded', 'X-Original-URL', 'x-rewrite-url'],
  ].map((name): Refused => [`the header ${name} as input`, withParameter(name, 'header'), {}]),
  ['a password in its address', { method: 'GET', path: '/' }, { url: 'http://a:b@example.com' }],
])('an upstream with %s is refused [H-90]', async (_, request, server) => {
  await expect(given('http://a.example', [operation(request)], server)).rejects.toMatchObject({
    code: 'upstream.invalid',
  })
})
